// Machines that are terminated by their cloud.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeState;
using std::chrono::minutes;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr auto kSkyWithOneReady = R"(
labels: [{name: small, min-ready: 1}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 4, labels: [small]}]
)";

constexpr const char* kTakenAway = "machine-1 is terminated: Server.SpotInstanceTermination";

class TerminatedMachineDetectorTest : public LauncherFixture {
 protected:
  TerminatedMachineDetectorTest() {
    journal_ = history::Journal{.directory = journals_.path()};
    start(kSkyWithOneReady);
    pass(minutes(1));
  }

  void end_machine(const Node& node) { cloud_->ended[node.external_id_text()] = kTakenAway; }

  // "EVENT DETAILS" for each entry of a node. Stops the launcher, which then has written
  // everything.
  std::vector<std::string> history_of(const std::string& id) {
    stop();
    std::vector<std::string> lines;
    for (const history::JournalEntry& entry : history::entries_of(*journal_, id)) {
      lines.push_back(entry.event + " " + entry.details);
    }
    return lines;
  }

  test_support::TemporaryDirectory journals_;
};

TEST_F(TerminatedMachineDetectorTest, a_free_node_with_a_terminated_machine_is_deleted) {
  const Node node = nodes(NodeState::ready).at(0);
  end_machine(node);
  cloud_->delete_time = minutes(2);
  pass(minutes(1) + std::chrono::seconds(1));
  EXPECT_EQ(read_node(node.id).state, NodeState::deleting);
  EXPECT_EQ(read_node(node.id).comment, kTakenAway);
  pass(minutes(5));
  ASSERT_THAT(nodes(), SizeIs(1)) << "another one for min-ready";
  EXPECT_NE(nodes().at(0).id, node.id);
  EXPECT_THAT(history_of(node.id), Contains(std::string("ended ") + kTakenAway));
  EXPECT_THAT(log_, Contains(HasSubstr(kTakenAway)));
}

TEST_F(TerminatedMachineDetectorTest, a_node_with_a_terminated_machine_is_not_handed_out) {
  const Node node = nodes(NodeState::ready).at(0);
  end_machine(node);
  const std::string id = request({"small"});
  pass(std::chrono::seconds(5));
  EXPECT_THAT(read_request(id).nodes, testing::AllOf(SizeIs(1), Not(Contains(node.id))));
  EXPECT_THAT(history_of(node.id), Contains(std::string("ended ") + kTakenAway));
}

TEST_F(TerminatedMachineDetectorTest, leaks_that_take_long_to_delete_delay_nothing) {
  cloud_->leak_time = minutes(10);
  pass(minutes(2));  // such a deletion has begun
  const Node node = nodes(NodeState::ready).at(0);
  end_machine(node);
  cloud_->delete_time = minutes(2);
  pass(minutes(1) + std::chrono::seconds(1));
  EXPECT_EQ(read_node(node.id).comment, kTakenAway);
}

TEST_F(TerminatedMachineDetectorTest, a_node_in_use_stays_and_shows_the_reason) {
  const std::string id = request({"small"});
  const Node node = read_node(read_request(id).nodes.at(0));
  accept(id);
  const std::vector<std::string> before = contenders();
  end_machine(node);
  pass(minutes(3));
  EXPECT_EQ(read_node(node.id).state, NodeState::in_use);
  EXPECT_EQ(read_node(node.id).comment, kTakenAway);
  EXPECT_EQ(contenders(), before);
  give_back(node.id);
  pass(minutes(1));
  EXPECT_THAT(cloud_->machines, Not(Contains(node.external_id_text())));
  const std::vector<std::string> history = history_of(node.id);
  EXPECT_EQ(std::ranges::count(history, std::string("ended ") + kTakenAway), 1);
}

TEST_F(TerminatedMachineDetectorTest, a_comment_of_the_holder_s_stays) {
  const std::string id = request({"small"});
  accept(id);
  Node node = nodes(NodeState::in_use).at(0);
  node.comment = "mine";
  write_node(node);
  settle();
  end_machine(node);
  pass(minutes(3));
  EXPECT_EQ(read_node(node.id).comment, "mine");
  EXPECT_THAT(history_of(node.id), Contains(std::string("ended ") + kTakenAway));
}

TEST_F(TerminatedMachineDetectorTest, a_node_that_is_about_to_be_taken_stays_for_its_requestor) {
  const std::string id = request({"small"});
  const Node node = read_node(read_request(id).nodes.at(0));
  end_machine(node);
  pass(minutes(3));
  EXPECT_EQ(read_node(node.id).state, NodeState::ready);
  EXPECT_EQ(read_node(node.id).allocated_to, id);
  EXPECT_EQ(read_node(node.id).comment, kTakenAway);
}

TEST_F(TerminatedMachineDetectorTest, two_launchers_say_it_once) {
  start_another(kSkyWithOneReady);
  const std::string id = request({"small"});
  accept(id);
  const Node node = nodes(NodeState::in_use).at(0);
  end_machine(node);
  pass(minutes(5));
  EXPECT_EQ(read_node(node.id).comment, kTakenAway);
  const auto version = read_node(node.id).stat.version;
  pass(minutes(5));
  EXPECT_EQ(read_node(node.id).stat.version, version);
}

}  // namespace
}  // namespace nodepool::launcher
