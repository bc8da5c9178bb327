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

struct Flavor {
  std::string name;
  double ram = 0;  // MiB
  double cores = 0;
};

// What a machine is made of.
struct ServerSpec {
  std::string name;
  std::string flavor;
  std::string image;                  // its id
  std::string zone;                   // empty: the first
  std::vector<std::string> networks;  // unknown ones stand for the first
  std::int64_t volume_gb = 0;         // 0: it has no volume
  driver::Metadata metadata;
};

struct Server {
  enum class Status { build, active, error };

  std::string id;
  ServerSpec spec;
  Status status = Status::build;
  driver::Resources resources;
  std::string public_ipv4;  // addresses contain "fake": nobody contacts them
  std::string private_ipv4;
  std::string public_ipv6;
};

// How the next calls of a kind fail, in tests.
struct Failure {
  driver::CloudError::Kind kind = driver::CloudError::Kind::transient;
  bool is_done = false;  // what was asked for happens all the same
};

// A cloud inside this process: its machines and images, and what it allows. It knows no time of its
// own, the callers say what time it is; so it outlives them, as a cloud does, and one can serve
// several launchers of a test. Throws CloudError.
class FakeCloud {
 public:
  using TimePoint = async::Clock::TimePoint;

  FakeCloud();

  FakeBehaviour behaviour;

  static const std::vector<Flavor>& flavors();
  static const std::vector<std::string>& zones();

  // Makes a machine, called `id`, or says why not.
  void create(std::string id, ServerSpec spec, bool is_broken, TimePoint now);

  // Begins to delete a machine. Throws not_found.
  void remove(const std::string& id, TimePoint now);

  // The machines that there are now, in the order of their ids.
  std::vector<Server> servers(TimePoint now);
  std::optional<Server> server(const std::string& id, TimePoint now);

  void add_image(driver::CloudImage image);
  void remove_image(const std::string& id);  // throws not_found
  std::vector<driver::CloudImage> images() const;
  // By id or name.
  std::optional<driver::CloudImage> image(std::string_view id_or_name) const;

  // For tests: the next `times` calls of this kind fail like this, in place of what was said of
  // them before; the next machines do not come up.
  void fail_next(CloudCall call, Failure failure, std::size_t times = 1);
  void break_next(std::size_t times = 1) { to_be_broken_ = times; }

  // How the call that is about to be made fails because of that.
  std::optional<Failure> take_failure(CloudCall call);

 private:
  struct Machine {
    Server server;
    TimePoint up_at;
    bool is_broken = false;
    std::optional<TimePoint> gone_at;
  };

  void forget_gone(TimePoint now);
  static Server seen(const Machine& machine, TimePoint now);

  std::map<std::string, Machine> machines_;                        // by id
  std::map<std::string, driver::CloudImage> images_;               // by id
  std::map<CloudCall, std::pair<Failure, std::size_t>> failures_;  // and how often they are to come
  std::size_t to_be_broken_ = 0;
};

// The clouds of a process, by name: providers come and go with the configuration, clouds stay.
class FakeClouds {
 public:
  // The one of that name; made when it is first asked for.
  std::shared_ptr<FakeCloud> cloud(const std::string& name);

 private:
  std::map<std::string, std::shared_ptr<FakeCloud>> clouds_;
};

}  // namespace nodepool::drivers::fake
