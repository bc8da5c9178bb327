// Launches while the only ZooKeeper server is away again and again: what the store did is never
// the cloud's failure.

#include <signal.h>

#include <chrono>
#include <set>

#include "model/paths.h"
#include "model/request_table.h"
#include "tests/integration/zookeeper/site.h"

namespace nodepool::integration {
namespace {

using coordination::zookeeper::options_for;
using coordination::zookeeper::Security;
using coordination::zookeeper::shared_ensemble;
using model::NodeRequest;
using model::RequestState;

class OutageTest : public coordination::zookeeper::FaultTest {
 protected:
  OutageTest()
      : FaultTest(options_for(shared_ensemble(1), {0}, Security::tls)),
        ensemble_(shared_ensemble(1)),
        store_(fixture_.open(patient())),
        log_(telemetry::Log::to_consumer(
            [](telemetry::LogLevel, std::string_view, std::string_view) {})),
        requests_(fixture_.runtime(), *store_, telemetry::Logger(log_, "test")) {
    host_.directory().write("clouds.yaml", "clouds: {fake: {auth: {}}}");
    host_.keep_records_in(
        zookeeper_keys(ensemble_, {ensemble_.tls_port(0)}, fixture_.options().chroot, "10.0"));
  }

  ~OutageTest() override {
    run(scope_.stop());
    ensemble_.wait_until_serving(0);
  }

  // The test's own session outlives all outages.
  coordination::zookeeper::ZooKeeperOptions patient() const {
    auto options = fixture_.options();
    options.session_timeout = std::chrono::minutes(2);
    return options;
  }

  // A cloud whose machines boot in a second, so many at a time.
  void start_launcher(int at_once) {
    host_.configure("  - name: sky\n    driver: fake\n    cloud: fake\n    max-concurrency: " +
                    std::to_string(at_once) +
                    "\n    cloud-images: [{name: Fake Precise}]\n    fake-cloud: {boot-time: 1, "
                    "limits: {instances: 100, cores: 1000, ram: 1000000}}\n    pools:\n"
                    "      - name: main\n        labels:\n"
                    "          - {name: a, cloud-image: Fake Precise, flavor-name: Fake Flavor}\n");
    host_.start_launcher();
    scope_.spawn("table of requests", requests_.run());
    const std::string pools = std::string(model::kComponentsRoot) + "/pool";
    wait_until("the registration of the pool",
               [&] { return run(store_->exists(pools)) && !run(store_->children(pools)).empty(); });
  }

  void ask(int count) {
    NodeRequest request;
    request.node_types = {"a"};
    request.requestor = "test";
    coordination::Transaction transaction;
    for (int i = 0; i < count; ++i) {
      transaction.create(model::request_path("200-"), to_record(request),
                         coordination::CreateMode::persistent_sequential);
    }
    run(store_->commit(std::move(transaction)));
  }

  int count(RequestState state) const {
    int found = 0;
    for (const auto& [id, request] : requests_.all()) found += request.state == state ? 1 : 0;
    return found;
  }
  int answered() const { return count(RequestState::fulfilled) + count(RequestState::failed); }

  void wait_until(const std::string& what, const std::function<bool()>& condition) {
    ASSERT_TRUE(fixture_.run_until(condition)) << "not in time: " << what;
  }

  // It stops answering for longer than a machine takes to boot, so that each launch has sent it
  // something; then it dies, and is started again.
  void kill_server_amid_writes() {
    ensemble_.pause(0);
    const auto end = fixture_.runtime().clock.now() + std::chrono::milliseconds(1500);
    wait_until("unanswered writes", [&] { return fixture_.runtime().clock.now() >= end; });
    ensemble_.kill(0);
    ensemble_.start(0);
    ensemble_.wait_until_serving(0);
  }

  test_support::ZooKeeperEnsemble& ensemble_;
  std::unique_ptr<coordination::Store> store_;
  std::shared_ptr<telemetry::Log> log_;
  model::RequestTable requests_;
  Installation host_;
};

TEST_F(OutageTest, no_launch_fails_because_the_store_was_away) {
  constexpr int kRequests = 60;
  constexpr int kOutages = 6;
  start_launcher(/*at_once=*/8);
  ask(kRequests);
  for (int i = 1; i <= kOutages; ++i) {
    wait_until("some answers", [&] { return answered() >= i * kRequests / (kOutages + 2); });
    if (HasFailure()) return;
    kill_server_amid_writes();
  }
  wait_until("all answers", [&] { return requests_.ready() && answered() == kRequests; });
  EXPECT_EQ(count(RequestState::fulfilled), kRequests);
  std::set<std::string> nodes;
  for (const auto& [id, request] : requests_.all()) {
    for (const auto& [pool, reason] : request.decline_reasons)
      ADD_FAILURE() << id << ": " << reason;
    nodes.insert(request.nodes.begin(), request.nodes.end());
  }
  EXPECT_EQ(nodes.size(), kRequests) << "a node each";
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
}

}  // namespace
}  // namespace nodepool::integration
