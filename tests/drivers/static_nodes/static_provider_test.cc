#include "drivers/static_nodes/static_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "coordination/faulty/faulty_store.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "driver/launch.h"
#include "drivers/registry.h"
#include "drivers/static_nodes/static_config.h"
#include "model/host_report.h"
#include "model/paths.h"
#include "model/records.h"
#include "nodescan/error.h"
#include "tests/drivers/provider_config_test.h"
#include "tests/support/virtual_time.h"

namespace nodepool::drivers::static_nodes {
namespace {

using async::Task;
using model::Node;
using model::NodeState;
using testing::HasSubstr;

// The hosts, as the test wants them.
struct Network {
  std::optional<nodescan::ScanError> lookup_failure;  // nothing: all hosts are healthy
  int lookups = 0;
  std::optional<nodescan::ScanError> connection_failure;  // nothing: all accept connections
  std::optional<nodescan::ScanError> scan_failure;        // nothing: their keys can be read
  async::Duration scan_time{};
  int scans = 0;  // of host keys
  std::string key = "ssh-ed25519 A";
};

class TestScanner final : public nodescan::Scanner {
 public:
  TestScanner(Network& network, async::Clock& clock) : network_(network), clock_(clock) {}

  Task<nodescan::Address> address(std::string /*host*/,
                                  async::Clock::TimePoint /*deadline*/) override {
    ++network_.lookups;
    if (network_.lookup_failure) throw nodescan::ScanError(*network_.lookup_failure);
    co_return nodescan::Address{"192.0.2.1", false};
  }

  Task<> connectable(std::string /*host*/, std::uint16_t /*port*/,
                     async::Clock::TimePoint /*deadline*/, Attempts /*attempts*/) override {
    if (network_.connection_failure) throw nodescan::ScanError(*network_.connection_failure);
    co_return;
  }

  Task<std::vector<std::string>> host_keys(std::string /*host*/, std::uint16_t /*port*/,
                                           async::Clock::TimePoint /*deadline*/,
                                           nodescan::Progress* /*progress*/) override {
    ++network_.scans;
    co_await clock_.sleep_for(network_.scan_time);
    if (network_.scan_failure) throw nodescan::ScanError(*network_.scan_failure);
    co_return std::vector<std::string>{network_.key};
  }

 private:
  Network& network_;
  async::Clock& clock_;
};

class StaticProviderTest : public ProviderConfigTest {
 protected:
  StaticProviderTest() : ProviderConfigTest(all_drivers().schemas()) {
    loop_.run(records_.make_roots({model::Records::Kind::nodes}));
    records_.follow(scope_, {model::Records::Kind::nodes});
    settle();
  }
  ~StaticProviderTest() override { loop_.run(scope_.stop()); }

  // A provider of the host `h` with so many slots.
  std::unique_ptr<StaticProvider> provider(int slots = 1) {
    return provider_of("{name: h, labels: [a], max-parallel-jobs: " + std::to_string(slots) + "}");
  }

  std::unique_ptr<StaticProvider> provider_of(const std::string& hosts) {
    const config::Config config = read(
        "labels: [{name: a}]\n"
        "providers: [{name: rack, driver: static, pools: [{name: main, nodes: [" +
        hosts + "]}]}]\n");
    return std::make_unique<StaticProvider>(
        std::make_shared<StaticProviderConfig>(config.providers.at(0), config),
        driver::ProviderContext{.runtime = runtime_,
                                .store = store_,
                                .nodes = records_.nodes,
                                .images = records_.images,
                                .threads = threads_,
                                .log = log_,
                                .metrics = telemetry::Metrics().also_to(registry_)},
        std::make_unique<TestScanner>(network_, clock_));
  }

  void settle() {
    while (loop_.poll()) {
    }
  }
  void pass(async::Duration duration) {
    test_support::pass(clock_, duration, [this] { settle(); });
  }
  void start(StaticProvider& provider) {
    loop_.run(provider.start());
    settle();
  }

  // Creates a node of the host as another launcher does. Returns its id.
  std::string add_node(NodeState state, std::int64_t slot = 0) {
    Node node;
    node.state = state;
    node.provider = "rack";
    node.pool = "main";
    node.type = {"a"};
    node.hostname = "h";
    node.connection_type = "ssh";
    node.python_path = "auto";
    node.host_keys = {"ssh-ed25519 A"};
    node.public_ipv4 = "192.0.2.1";
    node.slot = slot;
    return loop_
        .run(inner_.create(model::node_path(""), to_record(node),
                           coordination::CreateMode::persistent_sequential))
        .substr(model::node_path("").size());
  }
  NodeState state_of(const std::string& id) {
    return model::parse_node(id, loop_.run(inner_.get(model::node_path(id)))).state;
  }

  std::string metrics() const { return registry_->prometheus_text(); }

  Network network_;
  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore inner_{server_, runtime_};
  coordination::FaultyStore store_{inner_, runtime_, {}, 1};
  std::vector<std::string> warnings_;
  telemetry::Logger log_{telemetry::Log::to_consumer(
                             [this](telemetry::LogLevel, std::string_view,
                                    std::string_view message) { warnings_.emplace_back(message); },
                             telemetry::LogLevel::warning),
                         "test"};
  model::Records records_{runtime_, store_, log_};
  async::ThreadPool threads_{1, "test"};
  std::shared_ptr<telemetry::MetricsRegistry> registry_ =
      std::make_shared<telemetry::MetricsRegistry>();
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

// A node that is being reclaimed.
class ReclaimedNode final : public driver::NodeRecord {
 public:
  explicit ReclaimedNode(Node node) : node_(std::move(node)) {}

  Node& node() override { return node_; }
  Task<> save() override { co_return; }

 private:
  Node node_;
};

// Counts the node if it may be handed out again.
Task<> reclaim(StaticProvider& provider, ReclaimedNode node, int& reclaimed) {
  if (co_await provider.reclaim(node)) ++reclaimed;
}

constexpr auto kUnhealthy = "nodepool_hosts_unhealthy{provider=\"rack\"} 1\n";
constexpr auto kHealthy = "nodepool_hosts_unhealthy{provider=\"rack\"} 0\n";

nodescan::ScanError unresolved() {
  return {nodescan::ScanError::Kind::unresolved, "it has no address"};
}

TEST_F(StaticProviderTest, a_replaced_one_leaves_the_count_of_unhealthy_hosts_to_its_successor) {
  network_.lookup_failure = unresolved();
  const auto replaced = provider();
  start(*replaced);
  EXPECT_THAT(metrics(), HasSubstr(kUnhealthy));
  replaced->quiesce();
  const auto successor = provider();
  successor->take_over(*replaced);
  start(*successor);
  loop_.run(replaced->stop());
  EXPECT_THAT(metrics(), HasSubstr(kUnhealthy));
  loop_.run(successor->stop());
  EXPECT_THAT(metrics(), HasSubstr(kHealthy));
}

TEST_F(StaticProviderTest, an_unhealthy_host_stays_so_until_a_check_succeeds) {
  add_node(NodeState::in_use);
  settle();
  network_.lookup_failure = unresolved();
  const auto rack = provider();
  start(*rack);
  EXPECT_THAT(metrics(), HasSubstr(kUnhealthy));
  const std::string surplus = add_node(NodeState::ready);
  settle();
  EXPECT_EQ(state_of(surplus), NodeState::deleting);
  EXPECT_THAT(metrics(), HasSubstr(kUnhealthy)) << "its records were corrected without a check";
  network_.lookup_failure.reset();
  pass(std::chrono::seconds(5));
  EXPECT_THAT(metrics(), HasSubstr(kHealthy));
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_host_whose_key_could_not_be_read_keeps_its_nodes) {
  const std::string id = add_node(NodeState::ready);
  settle();
  network_.lookup_failure.emplace(nodescan::ScanError::Kind::incomplete, "a key is unknown");
  const auto rack = provider();
  start(*rack);
  pass(std::chrono::minutes(1));
  EXPECT_GT(network_.lookups, 1);
  EXPECT_EQ(state_of(id), NodeState::ready);
  EXPECT_THAT(metrics(), HasSubstr(kHealthy));
  EXPECT_THAT(warnings_, testing::ElementsAre(HasSubstr("a key is unknown")));
  pass(std::chrono::minutes(2));
  EXPECT_THAT(metrics(), HasSubstr(kUnhealthy)) << "a busy server recovers earlier";
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_replaced_one_registers_no_further_slots) {
  const auto rack = provider(1000);
  loop_.run(rack->start());
  while (records_.nodes.all().empty()) ASSERT_GT(loop_.poll(1), 0U);
  rack->quiesce();
  settle();
  EXPECT_LE(records_.nodes.all().size(), 2U);
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_slot_that_has_been_registered_elsewhere_meanwhile_is_left_alone) {
  const auto rack = provider(20);
  loop_.run(rack->start());
  while (records_.nodes.all().empty()) ASSERT_GT(loop_.poll(1), 0U);
  add_node(NodeState::ready, 19);
  settle();
  EXPECT_EQ(records_.nodes.all().size(), 20U);
  EXPECT_EQ(add_node(NodeState::ready, 19), "0000000020") << "no record was created in vain";
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_node_of_an_unhealthy_host_is_reclaimed_without_another_check) {
  const std::string id = add_node(NodeState::in_use);
  settle();
  network_.lookup_failure = unresolved();
  const auto rack = provider();
  start(*rack);
  const int lookups = network_.lookups;
  ReclaimedNode used(*records_.nodes.find(id));
  EXPECT_FALSE(loop_.run(rack->reclaim(used)));
  EXPECT_EQ(network_.lookups, lookups);
  network_.lookup_failure.reset();
  pass(std::chrono::seconds(5));
  EXPECT_TRUE(loop_.run(rack->reclaim(used))) << "it is healthy again";
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, nodes_that_are_reclaimed_together_share_the_scans_of_their_host) {
  std::vector<std::string> ids;
  for (int slot = 0; slot < 20; ++slot) ids.push_back(add_node(NodeState::in_use, slot));
  settle();
  const auto rack = provider(20);
  start(*rack);
  network_.scans = 0;
  network_.scan_time = std::chrono::seconds(1);
  int reclaimed = 0;
  for (const std::string& id : ids) {
    pass(std::chrono::milliseconds(1));
    scope_.spawn("reclaim", reclaim(*rack, ReclaimedNode(*records_.nodes.find(id)), reclaimed));
    settle();
  }
  EXPECT_EQ(network_.scans, 1);
  pass(std::chrono::seconds(3));
  EXPECT_EQ(reclaimed, 20);
  EXPECT_EQ(network_.scans, 2) << "a scan that began earlier does not count";
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_stop_ends_a_scan) {
  network_.scan_time = std::chrono::hours(1);
  const auto rack = provider();
  start(*rack);
  EXPECT_EQ(network_.scans, 1);
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_node_is_usable_as_long_as_it_has_a_record) {
  const std::string id = add_node(NodeState::ready);
  settle();
  const auto rack = provider();
  start(*rack);
  EXPECT_TRUE(loop_.run(rack->is_usable(id)));
  loop_.run(inner_.remove(model::node_path(id), coordination::kAnyVersion));
  settle();
  EXPECT_FALSE(loop_.run(rack->is_usable(id)));
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_host_that_refuses_a_connection_is_unhealthy_until_a_check_succeeds) {
  const std::string id = add_node(NodeState::ready);
  settle();
  const auto rack = provider();
  start(*rack);
  pass(std::chrono::minutes(1));  // the check at the start is no answer any more
  network_.connection_failure.emplace(nodescan::ScanError::Kind::unreachable, "h refuses");
  network_.scan_time = std::chrono::seconds(5);
  EXPECT_FALSE(loop_.run(rack->is_usable(id)));
  settle();
  EXPECT_THAT(warnings_, testing::ElementsAre(HasSubstr("cannot be handed out: h refuses")));
  EXPECT_THAT(metrics(), HasSubstr(kUnhealthy));
  const auto reports = loop_.run(model::read_host_reports(inner_));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports.front().problem, "h refuses");
  EXPECT_EQ(reports.front().since, clock_.wall_seconds());
  EXPECT_EQ(reports.front().next_check, 60) << "no check has failed yet";
  EXPECT_EQ(state_of(id), NodeState::ready) << "it is the caller's";
  pass(std::chrono::seconds(10));
  EXPECT_THAT(metrics(), HasSubstr(kHealthy));
  EXPECT_EQ(loop_.run(model::read_host_reports(inner_)).size(), 0U);
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_refused_connection_adds_no_check_to_one_that_is_scheduled) {
  const std::string id = add_node(NodeState::ready);
  settle();
  using Kind = nodescan::ScanError::Kind;
  for (const Kind kind : {Kind::incomplete, Kind::unreachable}) {
    network_.connection_failure.reset();
    network_.scan_failure.reset();
    const auto rack = provider();
    start(*rack);
    pass(std::chrono::minutes(1));
    network_.connection_failure.emplace(Kind::unreachable, "h refuses");
    network_.scan_failure.emplace(kind, "no key");
    network_.scans = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      EXPECT_FALSE(loop_.run(rack->is_usable(id)));
      settle();
    }
    EXPECT_EQ(network_.scans, 1);
    EXPECT_THAT(metrics(), HasSubstr(kUnhealthy));
    pass(std::chrono::seconds(2));
    EXPECT_EQ(network_.scans, 2);
    pass(std::chrono::seconds(4));
    EXPECT_EQ(network_.scans, 3) << "the pause was doubled once";
    loop_.run(rack->stop());
  }
}

TEST_F(StaticProviderTest, all_hosts_are_checked_when_several_refuse_connections) {
  const auto rack = provider_of(
      "{name: h1, labels: [a]}, {name: h2, labels: [a]}, {name: h3, labels: [a]}, "
      "{name: h4, labels: [a]}, {name: h5, labels: [a]}");
  start(*rack);
  std::vector<std::string> ids;
  for (const auto& [id, node] : records_.nodes.all()) ids.push_back(id);
  ASSERT_EQ(ids.size(), 5U);
  pass(std::chrono::minutes(1));
  using Kind = nodescan::ScanError::Kind;
  network_.connection_failure.emplace(Kind::unreachable, "no route");
  network_.scan_failure.emplace(Kind::timeout, "no route");
  for (std::size_t host = 0; host < 2; ++host) {
    EXPECT_FALSE(loop_.run(rack->is_usable(ids[host])));
    settle();
  }
  EXPECT_EQ(state_of(ids[3]), NodeState::ready) << "two hosts may fail by chance";
  EXPECT_FALSE(loop_.run(rack->is_usable(ids[2])));
  settle();
  for (const std::string& id : ids) EXPECT_EQ(state_of(id), NodeState::deleting) << id;
  EXPECT_THAT(warnings_, testing::Contains(HasSubstr("checking all hosts")).Times(1));
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, hosts_that_refuse_connections_over_time_are_no_outage) {
  const auto rack = provider_of(
      "{name: h1, labels: [a]}, {name: h2, labels: [a]}, {name: h3, labels: [a]}, "
      "{name: h4, labels: [a]}");
  start(*rack);
  std::vector<std::string> ids;
  for (const auto& [id, node] : records_.nodes.all()) ids.push_back(id);
  ASSERT_EQ(ids.size(), 4U);
  network_.connection_failure.emplace(nodescan::ScanError::Kind::unreachable, "no route");
  network_.scans = 0;
  for (std::size_t host = 0; host < 3; ++host) {
    pass(std::chrono::seconds(40));
    EXPECT_FALSE(loop_.run(rack->is_usable(ids[host])));
    settle();
  }
  EXPECT_EQ(network_.scans, 3) << "of the hosts themselves";
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_replaced_key_that_a_reclaim_finds_is_recorded_for_the_other_slots) {
  const auto rack = provider(3);
  start(*rack);
  const std::vector<std::string> ids = {"0000000000", "0000000001"};
  ASSERT_EQ(records_.nodes.all().size(), 3U);
  const std::string busy = records_.nodes.all().rbegin()->first;
  Node in_use = *records_.nodes.find(busy);
  in_use.state = NodeState::in_use;
  loop_.run(inner_.set(model::node_path(busy), to_record(in_use), coordination::kAnyVersion));
  settle();
  network_.scans = 0;
  ReclaimedNode used(*records_.nodes.find(ids[0]));
  const auto reclaim_later = [&] {
    pass(std::chrono::seconds(1));  // the last scan is no answer any more
    EXPECT_TRUE(loop_.run(rack->reclaim(used)));
    settle();
  };
  reclaim_later();
  EXPECT_EQ(network_.scans, 1);
  network_.key = "ssh-ed25519 B";
  reclaim_later();
  EXPECT_THAT(records_.nodes.find(ids[1])->host_keys, testing::ElementsAre("ssh-ed25519 B"));
  EXPECT_THAT(records_.nodes.find(busy)->host_keys, testing::ElementsAre("ssh-ed25519 A"));
  network_.key = "ssh-rsa C";
  reclaim_later();
  EXPECT_THAT(records_.nodes.find(ids[1])->host_keys, testing::ElementsAre("ssh-ed25519 B"))
      << "the key may just not have been read";
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_host_is_checked_ever_more_rarely_while_the_store_refuses_writes) {
  bool is_full = true;
  coordination::FaultPlan plan;
  plan.is_full = [&is_full] { return is_full; };
  store_.set_plan(plan);
  const auto rack = provider(2);
  start(*rack);
  pass(std::chrono::minutes(10));
  EXPECT_GT(network_.lookups, 10);
  EXPECT_LT(network_.lookups, 20);
  EXPECT_THAT(warnings_, testing::ElementsAre(HasSubstr("Error updating static node h")));
  EXPECT_THAT(metrics(), HasSubstr(kHealthy)) << "the host has answered";
  // A change of one of its nodes is no reason for another check.
  const int lookups = network_.lookups;
  add_node(NodeState::in_use, 5);
  settle();
  EXPECT_EQ(network_.lookups, lookups);
  is_full = false;
  pass(std::chrono::minutes(1));
  EXPECT_EQ(records_.nodes.all().size(), 2U);
  // It begins again at short intervals, with another warning.
  is_full = true;
  loop_.run(inner_.remove(model::node_path("0000000000"), coordination::kAnyVersion));
  pass(std::chrono::seconds(2));
  EXPECT_EQ(network_.lookups, lookups + 3);
  EXPECT_THAT(warnings_, testing::SizeIs(2));
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_node_that_a_full_store_keeps_is_logged_once_and_withdrawn_later) {
  const std::string id = add_node(NodeState::ready);
  settle();
  bool is_full = true;
  coordination::FaultPlan plan;
  plan.is_full = [&is_full] { return is_full; };
  store_.set_plan(plan);
  network_.lookup_failure = unresolved();
  const auto rack = provider();
  start(*rack);
  pass(std::chrono::minutes(10));
  EXPECT_EQ(state_of(id), NodeState::ready);
  EXPECT_THAT(warnings_, testing::Contains(HasSubstr("Error deregistering static node")).Times(1));
  is_full = false;
  pass(std::chrono::seconds(5));
  EXPECT_EQ(state_of(id), NodeState::deleting);
  loop_.run(rack->stop());
}

TEST_F(StaticProviderTest, a_slot_is_registered_when_the_node_that_was_placed_there_is_gone) {
  add_node(NodeState::in_use, 0);
  const std::string placed = add_node(NodeState::in_use, 0);
  settle();
  const auto rack = provider(2);
  start(*rack);
  EXPECT_EQ(records_.nodes.all().size(), 2U);
  loop_.run(inner_.remove(model::node_path(placed), coordination::kAnyVersion));
  settle();
  ASSERT_EQ(records_.nodes.all().size(), 2U);
  EXPECT_EQ(records_.nodes.all().rbegin()->second.slot, 1);
  loop_.run(rack->stop());
}

}  // namespace
}  // namespace nodepool::drivers::static_nodes
