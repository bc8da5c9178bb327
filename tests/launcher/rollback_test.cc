// Rollback of a request whose lock is lost meanwhile.

#include "launcher/rollback.h"

#include <gtest/gtest.h>

#include <optional>

#include "coordination/lock.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;

class RollbackTest : public PartsFixture {
 protected:
  static constexpr auto kRequest = "200-0000000000";

  // A pending request with two nodes, whose launches have not started: locked, except the nodes.
  RollbackTest() {
    loop_.run(coordination::ensure_path(others_, std::string(model::kRequestLocksRoot)));
    NodeRequest record;
    record.node_types = {"small", "small"};
    record.set_state(RequestState::pending, 0);
    loop_.run(others_.create(model::request_path(kRequest), to_record(record),
                             coordination::CreateMode::persistent));
    Node initial = idle_node("main", "small");
    initial.allocated_to = kRequest;
    initial.set_state(NodeState::init, 0);
    first_ = add_node(initial);
    second_ = add_node(initial);
    request_.emplace(context_, planning::PoolIdentity{"host-sky-main", "sky", "main"}, kRequest);
    EXPECT_EQ(loop_.run(request_->take()).kind, coordination::LockSet::Outcome::Kind::acquired);
    request_->add_node(first_);
    request_->add_node(second_);
  }

  // Another process writes the node, so that the rollback takes one transaction for each record.
  void change_first() {
    fall_behind();
    Node changed = node(first_);
    changed.comment = "seen by an operator";
    write_node(changed);
  }

  RequestState stored_state() {
    const auto entry = loop_.run(others_.get(model::request_path(kRequest)));
    return model::parse_node_request(kRequest, entry).state;
  }

  bool exists(const std::string& id) {
    return loop_.run(others_.exists(model::node_path(id))).has_value();
  }

  std::string first_;
  std::string second_;
  std::optional<LockedRequest> request_;
};

TEST_F(RollbackTest, a_changed_node_does_not_keep_the_others) {
  change_first();
  loop_.run(roll_back(*request_, {}));
  EXPECT_TRUE(exists(first_));
  EXPECT_FALSE(exists(second_));
  EXPECT_EQ(stored_state(), RequestState::requested);
}

// The launcher that takes the request over writes neither the request nor its nodes at first.
TEST_F(RollbackTest, after_the_loss_of_the_request_its_nodes_are_left_to_the_new_holder) {
  change_first();
  ASSERT_TRUE(loop_.run(coordination::force_unlock(others_, model::request_lock_path(kRequest))));
  coordination::Lock lock(others_, random_, model::request_lock_path(kRequest));
  ASSERT_TRUE(loop_.run(lock.try_acquire()));
  loop_.run(roll_back(*request_, {}));
  EXPECT_TRUE(exists(first_));
  EXPECT_TRUE(exists(second_));
  EXPECT_EQ(stored_state(), RequestState::pending);
}

TEST_F(RollbackTest, an_unreadable_request_that_is_lost_is_not_taken_as_gone) {
  loop_.run(others_.set(model::request_path(kRequest), "{", coordination::kAnyVersion));
  settle();
  ASSERT_EQ(request_->record(), nullptr);
  change_first();
  ASSERT_TRUE(loop_.run(coordination::force_unlock(others_, model::request_lock_path(kRequest))));
  loop_.run(roll_back(*request_, {}));
  EXPECT_TRUE(exists(first_));
  EXPECT_TRUE(exists(second_));
}

}  // namespace
}  // namespace nodepool::launcher
