// The contract of drivers, with one whose nodes are no machines.

#include "tests/drivers/namespaces/namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "driver/statemachine/state_machine_provider.h"
#include "tests/driver/harness/launcher_process.h"

namespace nodepool::drivers::namespaces {
namespace {

using driver::harness::LauncherProcess;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Nobody is to be contacted.
class NoScanner final : public nodescan::Scanner {
 public:
  Task<nodescan::Address> address(std::string /*host*/,
                                  async::Clock::TimePoint /*deadline*/) override {
    throw std::logic_error("looked up");
  }
  Task<> connectable(std::string /*host*/, std::uint16_t /*port*/,
                     async::Clock::TimePoint /*deadline*/, Attempts /*attempts*/) override {
    throw std::logic_error("contacted");
  }
  Task<std::vector<std::string>> host_keys(std::string /*host*/, std::uint16_t /*port*/,
                                           async::Clock::TimePoint /*deadline*/,
                                           nodescan::Progress* /*progress*/) override {
    throw std::logic_error("scanned");
  }
};

class NamespacesTest : public testing::Test {
 protected:
  NamespacesTest() { installation_.write_identity(); }

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) {
    auto adapter = std::make_unique<ClusterAdapter>(context.runtime, cluster_);
    return std::make_unique<driver::StateMachineProvider>(std::make_shared<ClusterConfig>(),
                                                          std::move(context), std::move(adapter),
                                                          std::make_unique<NoScanner>());
  }

  // A launcher is started; one that ran before is dead by then.
  LauncherProcess& start() {
    process_.reset();
    process_ = std::make_unique<LauncherProcess>(
        installation_,
        [this](driver::ProviderContext context) { return make_provider(std::move(context)); });
    return *process_;
  }

  std::string add_node() { return installation_.add_node("cluster", "main", "space"); }

  void finish(const std::shared_ptr<driver::harness::Job>& job) {
    process_->run_until_ended(*job);
    job->result();
  }

  driver::harness::Installation installation_;
  std::shared_ptr<Cluster> cluster_ = std::make_shared<Cluster>();
  std::unique_ptr<LauncherProcess> process_;
};

TEST_F(NamespacesTest, the_node_record_has_the_connection_data) {
  const std::string id = add_node();
  finish(start().launch(id));
  const model::Node node = installation_.node(id);
  EXPECT_EQ(node.state, model::NodeState::ready);
  EXPECT_EQ(node.connection_type, "namespace");
  EXPECT_EQ(node.username, "worker");
  EXPECT_EQ(node.python_path, "auto") << "as the label has it";
  EXPECT_EQ(node.interface_ip, std::nullopt);
  const auto port = nlohmann::json::parse(node.connection_port.text);
  EXPECT_EQ(port.at("token"), "s3cret-of-" + port.at("namespace").get<std::string>());
  EXPECT_EQ(nlohmann::json::parse(node.attributes.text),
            nlohmann::json::parse(R"({"team": "a", "site": "pool", "zone": "b"})"))
      << "the pool's go over the namespace's";
}

TEST_F(NamespacesTest, a_token_is_in_the_node_s_port_and_nowhere_else) {
  const std::string id = add_node();
  finish(start().launch(id, [](const model::Node& node) {
    EXPECT_THAT(node.launch_journal.text, Not(HasSubstr("s3cret")));
  }));
  model::Node node = installation_.node(id);
  EXPECT_THAT(node.connection_port.text, HasSubstr("s3cret"));
  node.connection_port = {};
  EXPECT_THAT(to_record(node), Not(HasSubstr("s3cret")));
  finish(process_->reclaim(id));
  EXPECT_THAT(installation_.log, Not(Contains(HasSubstr("s3cret"))));
}

TEST_F(NamespacesTest, a_launcher_that_dies_after_any_step_leaves_one_namespace_to_the_next) {
  for (int steps = 0;; ++steps) {
    const std::string id = add_node();
    const auto job = start().launch(id);
    for (int i = 0; i < steps && !job->ended; ++i) process_->step();
    const bool complete = job->ended;
    if (!complete) finish(start().launch(id));
    EXPECT_EQ(installation_.node(id).state, model::NodeState::ready) << steps;
    EXPECT_EQ(cluster_->namespaces.size(), 1U) << steps;
    finish(process_->reclaim(id));
    EXPECT_EQ(cluster_->namespaces.size(), 0U) << steps;
    if (complete) break;
  }
}

TEST_F(NamespacesTest, a_cluster_that_can_be_watched_is_not_polled) {
  cluster_->is_slow = true;
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(std::chrono::seconds(10));
  ASSERT_EQ(cluster_->namespaces.size(), 1U);
  const int calls = cluster_->calls;
  process_->pass(std::chrono::minutes(10));
  ASSERT_FALSE(job->ended);
  EXPECT_EQ(cluster_->calls, calls);
  cluster_->activate();
  process_->pass(std::chrono::seconds(3));
  EXPECT_TRUE(job->ended) << "the watch has responded at once";
  EXPECT_EQ(installation_.node(id).state, model::NodeState::ready);
}

TEST_F(NamespacesTest, a_deletion_goes_on_where_a_launcher_has_died) {
  for (int steps = 0;; ++steps) {
    const std::string id = add_node();
    finish(start().launch(id));
    const auto job = process_->reclaim(id);
    for (int i = 0; i < steps && !job->ended; ++i) process_->step();
    const bool complete = job->ended;
    if (!installation_.nodes().empty()) finish(start().reclaim(id));
    EXPECT_EQ(cluster_->namespaces.size(), 0U) << steps;
    for (const auto& [name, times] : cluster_->removals) EXPECT_EQ(times, 1) << name;
    EXPECT_THAT(installation_.nodes(), testing::IsEmpty());
    if (complete) break;
  }
}

TEST_F(NamespacesTest, leaks_reported_by_the_adapter_are_removed) {
  const std::string id = add_node();
  finish(start().launch(id));
  const auto labels = cluster_->namespaces.begin()->second.labels;
  cluster_->namespaces["main-other"].labels = labels;  // a second one of the node
  auto gone = labels;
  gone["nodepool_node_id"] = "0000099999";
  cluster_->namespaces["main-gone"].labels = gone;
  process_->run(process_->provider().launching()->remove_leaks());
  EXPECT_EQ(cluster_->namespaces.size(), 3U) << "seen for the first time";
  process_->run(process_->provider().launching()->remove_leaks());
  ASSERT_EQ(cluster_->namespaces.size(), 1U);
  EXPECT_FALSE(cluster_->namespaces.begin()->second.token.empty()) << "the node's";
}

TEST_F(NamespacesTest, an_unusable_node_is_noticed) {
  const std::string id = add_node();
  finish(start().launch(id));
  const model::Node node = installation_.node(id);
  driver::Provider& provider = process_->provider();
  EXPECT_TRUE(process_->run(provider.is_usable(node.id)));
  cluster_->is_usable = false;
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(process_->run(provider.is_usable(node.id)));
}

}  // namespace
}  // namespace nodepool::drivers::namespaces
