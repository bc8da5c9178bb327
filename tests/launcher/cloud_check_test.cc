// Ready nodes are checked before they are handed out.

#include <gmock/gmock.h>

#include "tests/launcher/cloud_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeState;
using model::RequestState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A request for three ready nodes, whose checks take 10 seconds.
class CloudCheckTest : public CloudTest {
 protected:
  CloudCheckTest() {
    start(kCloud);
    cancel(request({"small", "small", "small"}));
    nodes_ = nodes(NodeState::ready);
    cloud_->delete_time = minutes(10);
    cloud_->check_time = seconds(10);
  }

  std::string request_them() { return request({"small", "small", "small"}); }
  NodeState state_of_node(std::size_t index) { return read_node(nodes_.at(index).id).state; }
  void end_machine(std::size_t index, const std::string& reason) {
    cloud_->ended[nodes_.at(index).external_id_text()] = reason;
  }

  std::vector<Node> nodes_;
};

TEST_F(CloudCheckTest, ready_nodes_are_checked_concurrently) {
  const std::string id = request_them();
  pass(seconds(9));
  EXPECT_EQ(state(id), RequestState::requested);
  pass(seconds(1));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_EQ(cloud_->launches, 3) << "none is new";
}

TEST_F(CloudCheckTest, all_unusable_nodes_are_taken_out_of_service_at_once) {
  end_machine(0, "spot");
  end_machine(2, "maintenance");
  const std::string id = request_them();
  pass(seconds(10));
  EXPECT_EQ(state_of_node(0), NodeState::deleting);
  EXPECT_EQ(state_of_node(1), NodeState::ready);
  EXPECT_EQ(state_of_node(2), NodeState::deleting);
  EXPECT_EQ(read_node(nodes_[0].id).comment, "spot");
  EXPECT_EQ(read_node(nodes_[2].id).comment, "maintenance");
  EXPECT_EQ(state(id), RequestState::requested);
}

TEST_F(CloudCheckTest, a_failed_check_leaves_no_locks_and_is_retried) {
  cloud_->uncheckable = {nodes_[1].external_id_text()};
  const std::string id = request_them();
  pass(seconds(10));
  EXPECT_THAT(log_, testing::Contains(HasSubstr("the machine cannot be checked")));
  EXPECT_THAT(contenders(), IsEmpty());
  for (std::size_t i = 0; i < nodes_.size(); ++i) EXPECT_EQ(state_of_node(i), NodeState::ready);
  cloud_->uncheckable = {};
  pass(minutes(1));
  EXPECT_EQ(state(id), RequestState::fulfilled);
  EXPECT_EQ(cloud_->launches, 3) << "none is new";
}

TEST_F(CloudCheckTest, a_stop_during_the_checks_leaves_everything_as_it_was) {
  const std::string id = request_them();
  pass(seconds(5));
  EXPECT_THAT(contenders(), SizeIs(4)) << "the request and its nodes";
  stop();
  EXPECT_THAT(contenders(), IsEmpty());
  EXPECT_EQ(state(id), RequestState::requested);
  for (std::size_t i = 0; i < nodes_.size(); ++i) EXPECT_EQ(state_of_node(i), NodeState::ready);
  start(kCloud);
  pass(seconds(10));
  EXPECT_EQ(state(id), RequestState::fulfilled);
}

}  // namespace
}  // namespace nodepool::launcher
