#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/clock.h"
#include "driver/cloud_error.h"
#include "driver/images.h"
#include "driver/resources.h"
#include "drivers/fake/fake_behaviour.h"

namespace nodepool::drivers::fake {

struct FakeFlavor {
  std::string name;
  double ram = 0;  // MiB
  double cores = 0;
};

// The parameters of a new machine.
struct ServerSpec {
  std::string name;
  std::string flavor;
  std::string image;                  // its id
  std::string zone;                   // empty: the first
  std::vector<std::string> networks;  // unknown ones are replaced by the first
  std::int64_t volume_gb = 0;         // 0: no volume
  driver::Metadata metadata;
};

struct FakeServer {
  enum class Status { build, active, error };

  std::string id;
  ServerSpec spec;
  Status status = Status::build;
  driver::Resources resources;
  std::string public_ipv4;  // addresses contain "fake" and are never contacted
  std::string private_ipv4;
  std::string public_ipv6;
};

// A simulated failure of a call, for tests.
struct FakeFailure {
  driver::CloudError::Kind kind = driver::CloudError::Kind::transient;
  bool is_done = false;  // the call takes effect nevertheless
};

// A simulated cloud in this process: its machines, images and quota. Callers pass the current time,
// so that one cloud can outlive them and serve several launchers of a test. Throws CloudError.
class FakeCloud {
 public:
  using TimePoint = async::Clock::TimePoint;

  FakeCloud();

  FakeBehaviour behaviour;

  static const std::vector<FakeFlavor>& flavors();
  static const std::vector<std::string>& zones();

  // Makes a machine with this id.
  void create(std::string id, ServerSpec spec, bool is_broken, TimePoint now);

  // Begins to delete a machine. Throws not_found.
  void remove(const std::string& id, TimePoint now);

  // The existing machines, sorted by id.
  std::vector<FakeServer> servers(TimePoint now);
  std::optional<FakeServer> server(const std::string& id, TimePoint now);

  void add_image(driver::CloudImage image);
  void remove_image(const std::string& id);  // throws not_found
  std::vector<driver::CloudImage> images() const;
  // Finds an image by id or name.
  std::optional<driver::CloudImage> image(std::string_view id_or_name) const;

  // For tests: the next `times` calls of this kind fail; replaces an earlier setting.
  void fail_next(CloudCall call, FakeFailure failure, std::size_t times = 1);
  // For tests: the next `times` machines do not come up.
  void break_next(std::size_t times = 1) { to_be_broken_ = times; }

  // Consumes the failure set for the next call of this kind, if any.
  std::optional<FakeFailure> take_failure(CloudCall call);

 private:
  struct Machine {
    FakeServer server;
    TimePoint up_at;
    bool is_broken = false;
    std::optional<TimePoint> gone_at;
  };

  void forget_gone(TimePoint now);
  static FakeServer seen(const Machine& machine, TimePoint now);

  std::map<std::string, Machine> machines_;           // by id
  std::map<std::string, driver::CloudImage> images_;  // by id
  std::map<CloudCall, std::pair<FakeFailure, std::size_t>>
      failures_;  // and how often they are to come
  std::size_t to_be_broken_ = 0;
};

// The clouds of a process, by name. They outlive the providers of a configuration.
class FakeClouds {
 public:
  // The cloud of that name; made on first use.
  std::shared_ptr<FakeCloud> cloud(const std::string& name);

 private:
  std::map<std::string, std::shared_ptr<FakeCloud>> clouds_;
};

}  // namespace nodepool::drivers::fake
