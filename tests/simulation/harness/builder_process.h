#pragma once

#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "model/image_upload.h"
#include "tests/simulation/harness/cloud.h"
#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

using async::Task;

// What launchers see of a builder: of each built image uploads to each cloud that come into being,
// become ready, fail, and are deleted, with the images in the clouds.
class BuilderProcess final : public Process {
 public:
  BuilderProcess(World& world, async::Random& seeds, Clouds& clouds,
                 std::vector<std::string> providers, coordination::FaultPlan plan);

  // Sees to it that each cloud has a ready image, and leaves it at that.
  void finish();

 private:
  Task<> run();
  Task<> look_after(std::string image, std::string provider);
  bool is_there(const model::ImageUpload& upload) const;
  Task<std::vector<model::ImageUpload>> uploads(std::string image, std::string provider);
  Task<> upload(std::string image, std::string provider, bool surely);
  Task<> remove(model::ImageUpload upload);

  Clouds& clouds_;
  std::vector<std::string> providers_;
  bool finishing_ = false;
  async::Event finish_;
  async::TaskScope scope_;
};

}  // namespace nodepool::simulation
