#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.h"
#include "tests/driver/harness/installation.h"
#include "tests/driver/harness/launcher_process.h"

// What every driver that makes machines promises, as tests: whatever goes wrong, a node has one
// machine while it is needed and none after that. They go through driver::Provider, with launches
// whose records are in a store, and launchers that die and are started again over a cloud that
// stays.
//
// A driver's test derives from CloudFixture, links nodepool_driver_contract, and writes, in this
// namespace,
//
//   INSTANTIATE_TEST_SUITE_P(fake, DriverContract, testing::Values(backend<FakeFixture>()));
//
// and the same for DeathContract, and for QuotaContract, EndContract, ImageContract and
// WireContract where they concern the driver.
//
// All runs in the installation's virtual time. A driver whose cloud is a server on the loopback
// overrides wait_for_wire(), so that time passes only while the wire is silent.
namespace nodepool::drivers::contract {

namespace harness = driver::harness;

// The configuration that the suite expects: a provider with one pool and two labels, one made from
// a cloud image, the other from a diskimage; launch-retries 3, launch-timeout 900 if supported, and
// no limits of the pool. Host keys are not checked, or all machines have some.
inline constexpr const char* kProvider = "fake-contract";
inline constexpr const char* kPool = "main";
inline constexpr const char* kLabel = "small";
inline constexpr const char* kBuiltLabel = "built";
inline constexpr const char* kDiskimage = "trixie";

// Failures of a cloud.
enum class Trouble {
  quota,           // creating a machine exceeds the quota                    (QuotaContract)
  no_capacity,     // creating a machine fails for lack of capacity
  creation_error,  // creating a machine fails for another, temporary reason
  broken_machine,  // a machine is made, but does not come up
  response_lost,   // a machine is made, and the response is lost
  request_lost,    // a machine is not made, and there is no response
  deletion_error,  // deleting a machine fails
  listing_error,   // listing or getting machines fails temporarily
  listing_failed,  // listing or getting machines fails, such as with an unreadable response
  limits_error,    // reading the limits fails                                (QuotaContract)
  image_error,     // uploading an image fails
  busy,            // any call: try later, such as the statuses 429 and 503   (WireContract)
  token_expired,   // any call: the credentials have expired                  (WireContract)
};

// A machine in the cloud.
struct Machine {
  std::string id;
  driver::Metadata metadata;

  bool operator==(const Machine&) const = default;
};

// A cloud under the control of the suite. There is one for each test, which outlives all launchers.
class CloudFixture {
 public:
  CloudFixture() = default;
  virtual ~CloudFixture() = default;
  CloudFixture(const CloudFixture&) = delete;
  CloudFixture& operator=(const CloudFixture&) = delete;

  // Makes the provider as in a new process: it shares only the cloud with earlier ones. See
  // kProvider.
  virtual std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) = 0;

  // The name that the cloud lists for the suite's image, which is uploaded as `name`.
  virtual std::string image_name(const std::string& name, const driver::Metadata& /*metadata*/) {
    return name;
  }

  // All existing machines.
  virtual std::vector<Machine> machines() = 0;
  // The id of the node's machine among them, from its record.
  virtual std::string machine_of(const model::Node& node) { return node.external_id_text(); }

  // Makes the next `times` calls of that kind fail. Replaces an earlier setting.
  virtual void provoke(Trouble trouble, std::size_t times) = 0;
  // Sets the boot time of machines. Called before make_provider(), like set_capacity().
  virtual void set_boot_time(async::Duration time) = 0;
  // Sets the quota so that this number of machines with kLabel fits. (QuotaContract)
  virtual void set_capacity(std::size_t machines) = 0;
  // Makes a machine with kLabel's resources that Nodepool does not know.
  virtual void add_machine(driver::Metadata metadata) = 0;
  // The cloud terminates a machine, and reports that. (EndContract)
  virtual void end_machine(const std::string& /*id*/) {}
  // Whether a machine that listings lack does not exist. (EndContract)
  virtual bool has_complete_listings() const { return true; }

  // --- time

  // Timeout of a launch attempt.
  virtual async::Duration launch_timeout() const { return std::chrono::seconds(900); }
  // See LauncherProcess::WaitForWire.
  virtual bool wait_for_wire() { return false; }
};

// A driver under test.
struct Backend {
  std::function<std::unique_ptr<CloudFixture>(harness::Installation&)> make_fixture;

  // Keeps addresses out of the test names.
  friend void PrintTo(const Backend& /*backend*/, std::ostream* out) { *out << "backend"; }
};

// `Fixture` is constructed with the installation, which outlives it.
template <typename Fixture>
Backend backend() {
  return {
      [](harness::Installation& installation) { return std::make_unique<Fixture>(installation); }};
}

// Reads the first provider of a nodepool.yaml with this text. For fixtures. Throws
// config::ConfigError.
std::shared_ptr<const driver::ProviderConfig> read_provider(const driver::Driver& driver,
                                                            const std::string& yaml);

class DriverContract : public testing::TestWithParam<Backend> {
 protected:
  DriverContract() : cloud_(GetParam().make_fixture(installation_)) {}

  // Starts a launcher; an earlier one dies.
  harness::LauncherProcess& start();
  driver::Provider& provider() { return process_->provider(); }

  std::string add_node(std::string_view label = kLabel) {
    return installation_.add_node(kProvider, kPool, label);
  }
  model::Node node(const std::string& id) { return installation_.node(id); }
  bool is_recorded(const std::string& id);

  // Runs the job to its end.
  std::shared_ptr<harness::Job> finish(std::shared_ptr<harness::Job> job);

  // Launches a new node with the running launcher (if there is none, a new one), and expects that
  // it becomes ready.
  model::Node launch_new(std::string_view label = kLabel);

  // Launches nodes together with a new launcher, and expects that all become ready. Returns their
  // ids.
  std::vector<std::string> launch_together(std::size_t nodes);

  // The same as launch_new() for one that is expected to fail. Returns how it did, and its id.
  struct Failed {
    driver::LaunchError error;
    std::string node_id;
  };
  Failed fail_to_launch(std::string_view label = kLabel);

  // Reclaims a node, and expects success.
  void reclaim(const std::string& id);
  // Reclaims nodes together, and expects success.
  void reclaim_together(const std::vector<std::string>& ids);
  // Reclaims a node with retries, up to `attempts`. Expects that a failure leaves the record, and
  // success removes it.
  void reclaim_in_the_end(const std::string& id, int attempts);

  // The ids of all machines in the cloud; of those with the owner tags of a node.
  std::set<std::string> machine_ids();
  std::set<std::string> machines_of(const std::string& node_id);

  // Expects that the node is ready, and that the cloud has exactly one machine of it.
  void expect_one_machine(const std::string& id);

  // The owner tags of a machine of this installation.
  static driver::Metadata owner_tags(const std::string& provider, const std::string& node_id);
  // The owner tags of this node's machine.
  static driver::Metadata owner_tags(const model::Node& node);

  harness::Installation installation_;
  std::unique_ptr<CloudFixture> cloud_;
  std::unique_ptr<harness::LauncherProcess> process_;
};

// Launchers that die. For all drivers, and for each way in which a driver makes machines.
//
// Deaths between which nothing has changed that outlives a launcher leave the same behind. So the
// moments are counted from such changes, of the store's records and of the cloud's machines: right
// after each, and then in growing distances until the next one, because what is on its way
// to the cloud arrives after its sender's death, and because not all that is in a cloud is seen.
class DeathContract : public DriverContract {
 protected:
  DeathContract();
  ~DeathContract() override;

  // Runs `life` once for each moment, in which launchers live as long as run() lets them, until a
  // failure, or a job that ends before its moment comes.
  void at_each_moment(const std::function<void()>& life);

  // Runs the job's tasks, one continuation at a time, up to the moment.
  void run(const harness::Job& job);

 private:
  enum class Outcome { none, reached, overtaken, ended };

  // How often what outlives launchers has changed; as far as that can be seen.
  std::size_t changes();

  std::int64_t session_;
  std::size_t records_changes_ = 0;
  std::size_t cloud_changes_ = 0;
  std::vector<Machine> last_seen_;
  // The moment: so many continuations after so many changes.
  std::size_t at_change_ = 0;
  std::size_t at_step_ = 0;
  Outcome outcome_ = Outcome::none;  // of the first job of a life
};

// For drivers whose cloud has a quota, reports it, and enforces it.
class QuotaContract : public DriverContract {};

// For drivers whose listing shows that the cloud has terminated a machine.
class EndContract : public DriverContract {};

// For drivers that upload images.
class ImageContract : public DriverContract {};

// For drivers with their own HTTP calls, which handle rate limits and credentials themselves.
class WireContract : public DriverContract {};

}  // namespace nodepool::drivers::contract
