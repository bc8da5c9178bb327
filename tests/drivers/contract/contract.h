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
// an image that is in the cloud, the other from a diskimage; launch-retries 3, launch-timeout 900
// where there is one, no limits of the pool's own. Nobody looks for the machines' host keys, or all
// have some.
inline constexpr const char* kProvider = "fake-contract";
inline constexpr const char* kPool = "main";
inline constexpr const char* kLabel = "small";
inline constexpr const char* kBuiltLabel = "built";
inline constexpr const char* kDiskimage = "trixie";

// What can go wrong with a cloud.
enum class Trouble {
  quota,           // a machine is refused for want of quota                  (QuotaContract)
  no_capacity,     // … because the cloud is full
  creation_error,  // … for another reason, which may pass
  broken_machine,  // a machine is made, but does not come up
  answer_lost,     // a machine is made, and the answer is lost
  question_lost,   // a machine is not made, and the answer is lost
  deletion_error,  // a machine is not deleted
  listing_error,   // looking at machines, one or all, fails
  listing_failed,  // … and nothing says that it may pass, as if the answer could not be read
  limits_error,    // the limits are not told                                 (QuotaContract)
  image_error,     // an image is not accepted
  busy,            // any call: "later", as with the statuses 429 and 503    (WireContract)
  token_expired,   // any call: the credentials are to be shown anew         (WireContract)
};

// A machine that there is in the cloud.
struct Machine {
  std::string id;
  driver::Metadata metadata;

  bool operator==(const Machine&) const = default;
};

// One cloud, and what the suite does to it behind Nodepool's back. One is made for each test, and
// outlives all launchers.
class CloudFixture {
 public:
  CloudFixture() = default;
  virtual ~CloudFixture() = default;
  CloudFixture(const CloudFixture&) = delete;
  CloudFixture& operator=(const CloudFixture&) = delete;

  // The provider as a program makes it that has just been started: it shares nothing with those of
  // before but the cloud. See kProvider.
  virtual std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) = 0;

  // All machines that are not gone.
  virtual std::vector<Machine> machines() = 0;
  // The id that the node's machine has among them; by its record.
  virtual std::string machine_of(const model::Node& node) { return node.external_id_text(); }

  // The next `times` calls that this concerns go wrong; none of those that were to.
  virtual void provoke(Trouble trouble, std::size_t times) = 0;
  // Machines take so long to come up. Called before the provider is made, as the next one is.
  virtual void set_boot_time(async::Duration time) = 0;
  // The quota is such that so many machines with kLabel fit, with nothing else there.
  // (QuotaContract)
  virtual void set_room(std::size_t machines) = 0;
  // Makes a machine with kLabel's needs that Nodepool knows nothing of.
  virtual void add_machine(driver::Metadata metadata) = 0;
  // The cloud takes a machine away, and says so. (EndContract)
  virtual void end_machine(const std::string& /*id*/) {}

  // --- time

  // How long an attempt at a launch may take.
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

// `Fixture` is constructed with the installation, which outlives it: for its clock, above all.
template <typename Fixture>
Backend backend() {
  return {
      [](harness::Installation& installation) { return std::make_unique<Fixture>(installation); }};
}

// The first provider of a nodepool.yaml with this text, as `driver` reads it: for fixtures. Throws
// config::ConfigError.
std::shared_ptr<const driver::ProviderConfig> read_provider(const driver::Driver& driver,
                                                            const std::string& yaml);

class DriverContract : public testing::TestWithParam<Backend> {
 protected:
  DriverContract() : cloud_(GetParam().make_fixture(installation_)) {}

  // A launcher is started; the one that ran before, if any, dies.
  harness::LauncherProcess& start();
  driver::Provider& provider() { return process_->provider(); }

  std::string add_node(std::string_view label = kLabel) {
    return installation_.add_node(kProvider, kPool, label);
  }
  model::Node node(const std::string& id) { return installation_.node(id); }
  bool is_recorded(const std::string& id);

  // Runs what has been begun to its end.
  std::shared_ptr<harness::Job> finish(std::shared_ptr<harness::Job> job);

  // Launches a new node with the running launcher (if there is none, a new one), and expects that
  // it becomes ready.
  model::Node launch_new(std::string_view label = kLabel);

  // The same for one that is expected to fail. Returns how it did, and its id.
  struct Failed {
    driver::LaunchError error;
    std::string node_id;
  };
  Failed fail_to_launch(std::string_view label = kLabel);

  // Takes a node back and expects that this goes well.
  void reclaim(const std::string& id);
  // The same, as the launcher does when it fails: tries so many times. Expects that a failure
  // leaves the record, and success nothing.
  void reclaim_in_the_end(const std::string& id, int attempts);

  // The ids of all machines in the cloud; of those that carry a node's id.
  std::set<std::string> machine_ids();
  std::set<std::string> machines_of(const std::string& node_id);

  // Expects that the node is ready, and that the cloud has one machine of it: its own.
  void expect_one_machine(const std::string& id);

  // What a machine carries that this installation has made.
  static driver::Metadata marks(const std::string& provider, const std::string& node_id);
  // The same for a machine of this node.
  static driver::Metadata marks(const model::Node& node);

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

// For drivers whose cloud has a quota, tells it, and refuses what goes beyond.
class QuotaContract : public DriverContract {};

// For drivers that learn from their listing that a machine has ended by itself.
class EndContract : public DriverContract {};

// For drivers that take images.
class ImageContract : public DriverContract {};

// For drivers whose calls go over a wire of their own: who waits for its turn there, and shows
// credentials, is the driver.
class WireContract : public DriverContract {};

}  // namespace nodepool::drivers::contract
