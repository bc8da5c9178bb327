#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "drivers/fake/fake_cloud.h"

namespace nodepool::drivers::fake {

using async::Task;

// The calls of a FakeCloud, with its configured latency and failures. A call takes effect after
// half of its latency: a caller that is cancelled afterwards does not learn the outcome. All
// functions throw CloudError and Cancelled.
class FakeClient {
 public:
  FakeClient(const async::Runtime& runtime, std::shared_ptr<FakeCloud> cloud)
      : runtime_(runtime), cloud_(std::move(cloud)) {}

  // Returns the machine's id.
  Task<std::string> create(ServerSpec spec);
  Task<> remove(std::string id);
  Task<std::vector<FakeServer>> servers();
  // Returns nothing if there is none.
  Task<std::optional<FakeServer>> server(std::string id);

  // The cloud's quota.
  Task<driver::Limits> limits();

  // Returns the image's id.
  Task<std::string> upload_image(std::string name, driver::Metadata metadata);
  Task<> remove_image(std::string id);
  Task<std::vector<driver::CloudImage>> images();

 private:
  Task<> call(CloudCall call, std::string what, std::function<void()> act);
  Task<> simulate_latency();
  std::optional<FakeFailure> draw_failure(CloudCall call);
  bool draw(double probability) { return runtime_.random.fraction() < probability; }

  async::Runtime runtime_;
  std::shared_ptr<FakeCloud> cloud_;
};

}  // namespace nodepool::drivers::fake
