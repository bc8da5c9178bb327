#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "config/config.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "drivers/fake/fake_cloud.h"
#include "launcher/launcher.h"
#include "model/node.h"
#include "model/node_request.h"
#include "nodescan/error.h"
#include "tests/coordination/stalling_store.h"
#include "tests/launcher/cloud_double.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::launcher {

// One static host.
inline constexpr auto kOneHost = R"(
labels: [{name: small}]
providers:
  - {name: rack, driver: static, pools: [{name: main, nodes: [{name: host-a, labels: [small]}]}]}
)";

// Two static hosts, three slots.
inline constexpr auto kTwoHosts = R"(
labels: [{name: small}, {name: large}]
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        node-attributes: {executor-zone: z1}
        nodes:
          - {name: host-a, labels: [small], max-parallel-jobs: 2}
          - {name: host-b, labels: [small, large], username: ci, connection-port: 2222}
)";

// How the lookup of a name fails; nothing: it does not.
using LookupFailure = std::optional<nodescan::ScanError>;

// A launcher with static providers and clouds, an in-process store and virtual time. Contacts no
// hosts.
class LauncherFixture : public testing::Test {
 protected:
  LauncherFixture();
  ~LauncherFixture() override;

  // Parses the text of a nodepool.yaml.
  config::Config parse(const std::string& yaml);

  // Starts a launcher; it has settled when this returns.
  void start(const std::string& yaml);
  // Starts another launcher, which is killed with the fixture.
  void start_another(const std::string& yaml);
  void reconfigure(const std::string& yaml);
  // Returns before it is done, which happens in settle() and pass().
  void begin_to_reconfigure(const std::string& yaml);
  // Reconfigures all launchers concurrently: each runs a little in turn.
  void reconfigure_all_at_once(const std::string& yaml);
  void stop();
  // Returns before it is done, which happens in settle() and pass(). Kill the process afterwards.
  void begin_to_stop();
  // Whether what began has ended.
  bool has_ended_tasks() const;
  // Kills the launcher's process: its session ends, its tasks stop where they are.
  void kill();
  // The same for those of start_another().
  void kill_others();

  // Runs everything that can run without time passing. Returns how many continuations ran.
  std::size_t settle();
  // Lets time pass, step by step from one timer to the next.
  void pass(async::Duration duration);
  // Runs one continuation of each launcher's tasks; if there are none, time passes to the next
  // timer.
  void step();

  // Actions of a requestor with its own session. The first returns before any launcher has the
  // event.
  std::string post_request(std::vector<std::string> labels,
                           const std::function<void(model::NodeRequest&)>& change = {});
  std::string request(std::vector<std::string> labels,
                      const std::function<void(model::NodeRequest&)>& change = {});
  void cancel(const std::string& request_id);
  // Locks the nodes of a fulfilled request, sets them in use and deletes the request, as Zuul does.
  void accept(const std::string& request_id);
  // Sets a node's state and unlocks it.
  void give_back(const std::string& node_id, model::NodeState state = model::NodeState::used);

  model::NodeRequest read_request(const std::string& id);
  model::Node read_node(const std::string& id);
  // Writes a node's record without its lock.
  void write_node(const model::Node& node);
  std::vector<model::Node> nodes();
  std::vector<model::Node> nodes(model::NodeState state);
  bool exists(const std::string& path);
  std::vector<std::string> children(const std::string& path);
  // All contenders for any lock in the store.
  std::vector<std::string> contenders();

  Launcher& launcher();
  // The launcher's own session.
  coordination::MemoryStore& process_store();
  // In front of it.
  coordination::StallingStore& stalling_store();

  template <typename T>
  T as_requestor(async::Task<T> task) {
    return loop_.run(std::move(task));
  }

  void as_requestor(async::Task<> task) { loop_.run(std::move(task)); }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{7};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  std::unique_ptr<coordination::MemoryStore> requestor_;
  std::shared_ptr<Cloud> cloud_ = std::make_shared<Cloud>();
  // Of the names of static hosts.
  std::shared_ptr<LookupFailure> lookup_failure_ = std::make_shared<LookupFailure>();
  test_support::TemporaryDirectory directory_;
  std::shared_ptr<drivers::fake::FakeClouds> fake_clouds_ =
      std::make_shared<drivers::fake::FakeClouds>();  // of `driver: fake`, with `cloud: fake`
  driver::DriverRegistry drivers_;
  std::vector<std::string> log_;                                  // warnings and errors by default
  telemetry::LogLevel log_level_ = telemetry::LogLevel::warning;  // of the next launcher
  telemetry::Metrics metrics_;  // of the next launcher; without receivers by default
  // Where the next launcher writes its history.
  std::optional<history::Journal> journal_;

  // One simulated process.
  struct Process;
  std::unique_ptr<Process> process_;
  std::vector<std::unique_ptr<Process>> others_;

 private:
  std::unique_ptr<Process> make_process(const std::string& yaml);
  void collect_contenders(const std::string& path, std::vector<std::string>& found);
  std::map<std::string, std::string> held_;  // node id -> contender path
};

}  // namespace nodepool::launcher
