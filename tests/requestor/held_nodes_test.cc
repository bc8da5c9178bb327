#include "requestor/held_nodes.h"

#include <gmock/gmock.h>

#include "coordination/tree.h"
#include "model/paths.h"
#include "requestor/error.h"
#include "requestor/request.h"
#include "tests/requestor/requestor_test.h"

namespace nodepool::requestor {
namespace {

using model::NodeState;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

class HeldNodesTest : public RequestorTest {
 protected:
  model::NodeRequest fulfilled(std::vector<std::string> labels) {
    const std::string id =
        run(create_request(runtime_, *store_, {std::move(labels), "nodepool:ada@host"}));
    Result answer = run(await_result(runtime_, *store_, id, clock_.now() + minutes(10), nullptr));
    return std::move(answer.request);
  }
};

TEST_F(HeldNodesTest, are_in_use_while_they_are_held_and_used_afterwards) {
  HeldNodes held(runtime_, *store_);
  run(held.accept(fulfilled({"small", "large"})));
  ASSERT_EQ(held.nodes().size(), 2U);
  EXPECT_THAT(held.nodes()[1].type, ElementsAre("large"));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  for (const char* id : {"0000000000", "0000000001"}) {
    EXPECT_EQ(run(launcher_.node(id)).state, NodeState::in_use);
    EXPECT_EQ(run(launcher_.lock_line(id)).size(), 1U);
  }
  run(held.release());
  for (const char* id : {"0000000000", "0000000001"}) {
    EXPECT_EQ(run(launcher_.node(id)).state, NodeState::used);
    EXPECT_THAT(run(launcher_.lock_line(id)), IsEmpty());
  }
  run(held.release());
}

TEST_F(HeldNodesTest, are_unlocked_when_the_session_dies) {
  HeldNodes held(runtime_, *store_);
  run(held.accept(fulfilled({"small"})));
  store_->kill_for_tests();
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::in_use);
  EXPECT_THAT(run(launcher_.lock_line("0000000000")), IsEmpty());
}

TEST_F(HeldNodesTest, are_released_although_one_was_changed) {
  HeldNodes held(runtime_, *store_);
  run(held.accept(fulfilled({"small", "large"})));
  run(coordination::remove_tree(launcher_store_, model::node_path("0000000000")));
  EXPECT_THAT(run(held.release()), ElementsAre("0000000001"));
  EXPECT_EQ(run(launcher_.node("0000000001")).state, NodeState::used);
  EXPECT_THAT(run(launcher_.lock_line("0000000001")), IsEmpty());
}

TEST_F(HeldNodesTest, are_held_although_one_has_a_new_comment) {
  HeldNodes held(runtime_, *store_);
  run(held.accept(fulfilled({"small", "large"})));
  model::Node node = run(launcher_.node("0000000000"));
  node.comment = "its machine has ended";
  run(launcher_store_.set(model::node_path(node.id), to_record(node), node.stat.version));
  run(held.release("the tests have failed"));
  for (const char* id : {"0000000000", "0000000001"}) {
    EXPECT_EQ(run(launcher_.node(id)).state, NodeState::hold);
    EXPECT_EQ(run(launcher_.node(id)).comment, "the tests have failed");
    EXPECT_THAT(run(launcher_.lock_line(id)), IsEmpty());
  }
}

TEST_F(HeldNodesTest, are_not_held_by_an_expired_session) {
  HeldNodes held(runtime_, *store_);
  run(held.accept(fulfilled({"small"})));
  store_->expire_for_tests();
  settle();
  EXPECT_THAT(run(held.release("the tests have failed")), IsEmpty());
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::in_use);
}

TEST_F(HeldNodesTest, survive_lost_answers) {
  HeldNodes held(runtime_, *store_);
  model::NodeRequest request = fulfilled({"small"});
  lose_answer_about(model::request_path(request.id));
  run(held.accept(request));
  lose_answer_about(model::node_path("0000000000"));
  run(held.release());
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
  EXPECT_THAT(run(launcher_.lock_line("0000000000")), IsEmpty());
}

TEST_F(HeldNodesTest, a_vanished_node_is_refused) {
  HeldNodes held(runtime_, *store_);
  const model::NodeRequest request = fulfilled({"small"});
  run(coordination::remove_tree(launcher_store_, model::node_path("0000000000")));
  try {
    run(held.accept(request));
    ADD_FAILURE() << "accepted";
  } catch (const RequestError& error) {
    EXPECT_STREQ(error.what(), "node 0000000000 has been deleted");
  }
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(HeldNodesTest, only_names_that_the_store_has_made_are_nodes) {
  for (const char* id : {"", "../requests/x", "1 *", "1\nHost *"}) {
    HeldNodes held(runtime_, *store_);
    model::NodeRequest request = fulfilled({"small"});
    request.nodes = {id};
    EXPECT_THROW(run(held.accept(request)), RequestError) << id;
  }
}

}  // namespace
}  // namespace nodepool::requestor
