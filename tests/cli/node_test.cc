#include <gmock/gmock.h>

#include "coordination/lock.h"
#include "model/lease.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using model::NodeState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NodeCommandTest : public CliTest {
 protected:
  NodeCommandTest() {
    config_ =
        "store: sqlite:///unused\n"
        "labels: [{name: small}]\n"
        "providers: [{name: rack, driver: double}]\n";
  }

  // Somebody else locks the node, and five seconds pass while the command waits.
  int nodepool_while_locked(std::vector<std::string> arguments, const std::string& id,
                            const std::string& identifier) {
    coordination::Lock lock(store_, random_, model::node_lock_path(id), identifier);
    EXPECT_TRUE(run(lock.try_acquire()));
    auto pass_time = [](async::VirtualClock& clock, coordination::Store& store,
                        std::string root) -> async::Task<> {
      while (true) {
        const std::vector<std::string> line = co_await store.children(root);
        if (line.size() > 1 && clock.next_wakeup() != async::Clock::TimePoint::max()) break;
      }
      clock.advance_by(std::chrono::seconds(6));
    };
    scope_.spawn("pass time", pass_time(clock_, store_, model::node_lock_path(id)));
    return nodepool(std::move(arguments));
  }
};

constexpr const char* kHeldTable =
    "+------------+----------+-------+-----------+-------------+------+-------+-------------+------"
    "----+\n"
    "| ID         | Provider | Label | Server ID | Public IPv4 | IPv6 | State | Age         | "
    "Locked   |\n"
    "+------------+----------+-------+-----------+-------------+------+-------+-------------+------"
    "----+\n"
    "| 0000000000 | rack     | small | host1     | 192.0.2.1   |      | hold  | 00:00:00:00 | "
    "unlocked |\n"
    "+------------+----------+-------+-----------+-------------+------+-------+-------------+------"
    "----+\n";

constexpr const char* kEmptyTable =
    "+----+----------+-------+-----------+-------------+------+-------+-----+--------+\n"
    "| ID | Provider | Label | Server ID | Public IPv4 | IPv6 | State | Age | Locked |\n"
    "+----+----------+-------+-----------+-------------+------+-------+-----+--------+\n"
    "+----+----------+-------+-----------+-------------+------+-------+-----+--------+\n";

TEST_F(NodeCommandTest, hold_sets_the_state_and_shows_the_node) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"hold", id}), 0);
  EXPECT_EQ(out(), kHeldTable);
  const model::Node node = run(launcher_.node(id));
  EXPECT_EQ(node.state, NodeState::hold);
  EXPECT_DOUBLE_EQ(node.state_time, clock_.wall_seconds());
  EXPECT_THAT(run(launcher_.lock_line(id)), IsEmpty());
}

TEST_F(NodeCommandTest, a_node_that_does_not_exist_is_no_failure) {
  for (const char* command : {"hold", "delete"}) {
    EXPECT_EQ(nodepool({command, "0000000009"}), 0);
    EXPECT_EQ(out(), "Node id 0000000009 not found\n");
  }
  EXPECT_EQ(nodepool({"delete", "0000000009", "--now"}), 0);
  EXPECT_EQ(out(), "Node id 0000000009 not found\n");
  EXPECT_FALSE(run(store_.exists(model::node_path("0000000009"))));
}

TEST_F(NodeCommandTest, a_node_without_a_record_is_not_found) {
  run(launcher_.add_node(make_node("small")));
  run(store_.create(model::node_path(""), "", coordination::CreateMode::persistent_sequential));
  EXPECT_EQ(nodepool({"hold", "0000000001"}), 0);
  EXPECT_EQ(out(), "Node id 0000000001 not found\n");
}

TEST_F(NodeCommandTest, a_locked_node_is_waited_for_five_seconds) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool_while_locked({"hold", id}, id, ""), 1);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "nodepool: Timeout trying to acquire lock /nodepool/nodes/0000000000/lock\n");
  EXPECT_EQ(run(launcher_.node(id)).state, NodeState::ready);
}

TEST_F(NodeCommandTest, several_nodes_are_held_and_one_that_fails_keeps_none_from_it) {
  const std::string first = run(launcher_.add_node(make_node("small")));
  const std::string locked = run(launcher_.add_node(make_node("small")));
  const std::string last = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool_while_locked({"hold", first, "0000000009", locked, last}, locked, ""), 1);
  EXPECT_THAT(out(), HasSubstr("Node id 0000000009 not found\n"));
  EXPECT_THAT(err(), HasSubstr("Timeout trying to acquire lock /nodepool/nodes/0000000001/lock"));
  EXPECT_EQ(run(launcher_.node(first)).state, NodeState::hold);
  EXPECT_EQ(run(launcher_.node(locked)).state, NodeState::ready);
  EXPECT_EQ(run(launcher_.node(last)).state, NodeState::hold);
  EXPECT_EQ(nodepool({"delete", first, last, "0000000009"}), 0);
  EXPECT_EQ(run(launcher_.node(last)).state, NodeState::deleting);
}

TEST_F(NodeCommandTest, strictly_an_unknown_node_is_a_failure) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"hold", "0000000009", id, "--strict"}), 1);
  EXPECT_EQ(out(), std::string("Node id 0000000009 not found\n") + kHeldTable);
  EXPECT_EQ(nodepool({"delete", "0000000009", "--strict"}), 1);
  EXPECT_EQ(nodepool({"delete", "0000000009", "--now", "--strict"}), 1);
  EXPECT_EQ(nodepool({"delete", id, "--strict"}), 0);
  EXPECT_EQ(nodepool({"dib-image-delete", "deb-1", "--strict"}), 1);
  EXPECT_EQ(nodepool({"dib-image-delete", "deb-1"}), 0);
}

TEST_F(NodeCommandTest, a_reason_becomes_the_comment) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"hold", id, "--reason", "disk looks odd"}), 0);
  EXPECT_EQ(run(launcher_.node(id)).comment, "disk looks odd");
}

TEST_F(NodeCommandTest, a_leased_node_is_held_and_leaves_its_lease) {
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"request", "small", "small"}), 0);
  EXPECT_EQ(nodepool({"hold", "0000000001"}), 0);
  EXPECT_THAT(out(), HasSubstr("| hold  | 00:00:00:00 | unlocked |"));
  const model::Node held = run(launcher_.node("0000000001"));
  EXPECT_EQ(held.state, NodeState::hold);
  EXPECT_EQ(held.comment, "held from lease 200-0000000000 of nodepool:ada@build1");
  EXPECT_EQ(lease_of(held), std::nullopt);
  EXPECT_THAT(run(launcher_.lock_line("0000000001")), IsEmpty());
  // The end of the lease is nothing to it.
  EXPECT_EQ(nodepool({"explain", "200-0000000000"}), 0);
  EXPECT_THAT(out(),
              HasSubstr("0000000001 (small) is hold for 0:00:00: no longer held by the lease\n"));
  EXPECT_EQ(nodepool({"release", "200-0000000000"}), 0);
  EXPECT_EQ(out(), "Released 0000000000\n");
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
  EXPECT_EQ(run(launcher_.node("0000000001")).state, NodeState::hold);
}

TEST_F(NodeCommandTest, a_leased_node_names_its_lease) {
  model::Node node = make_node("small");
  node.state = NodeState::in_use;
  node.user_data = model::lease_user_data({"200-0000000003", 1.0, "nodepool:ada@build1"});
  const std::string id = run(launcher_.add_node(node));
  EXPECT_EQ(nodepool_while_locked({"delete", id}, id, "lease 200-0000000003"), 1);
  EXPECT_THAT(err(), HasSubstr("lock: the node is leased, see `nodepool release 200-0000000003`"));
}

TEST_F(NodeCommandTest, delete_leaves_the_work_to_the_launcher) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"delete", id}), 0);
  EXPECT_THAT(out(), HasSubstr("| deleting | 00:00:00:00 | unlocked |"));
  EXPECT_EQ(run(launcher_.node(id)).state, NodeState::deleting);
  EXPECT_THAT(driver_log_->lines, IsEmpty());
}

TEST_F(NodeCommandTest, delete_now_has_the_provider_reclaim_the_node) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"delete", id, "--now"}), 0);
  EXPECT_EQ(out(), kEmptyTable);
  EXPECT_THAT(driver_log_->lines,
              ElementsAre("start rack", "take back 0000000000 deleting", "stop"));
  EXPECT_FALSE(run(store_.exists(model::node_path(id))));
}

TEST_F(NodeCommandTest, delete_now_registers_the_replacement) {
  driver_log_->replaces = true;
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"delete", id, "--now"}), 0);
  EXPECT_THAT(run(store_.children("/nodepool/nodes")), ElementsAre("0000000001"));
  EXPECT_EQ(run(launcher_.node("0000000001")).state, NodeState::ready);
}

TEST_F(NodeCommandTest, delete_now_removes_a_node_with_waiting_contenders) {
  driver_log_->replaces = true;
  const std::string id = run(launcher_.add_node(make_node("small")));
  auto queue_up = [](coordination::Store& store, async::Random& random, std::string root,
                     DriverLog& log) -> async::Task<> {
    while (log.lines.empty()) co_await store.exists(root);
    coordination::Lock lock(store, random, root);
    co_await lock.try_acquire();
    co_await store.create(root + "/0123__lock__", "",
                          coordination::CreateMode::ephemeral_sequential);
  };
  scope_.spawn("queue up", queue_up(store_, random_, model::node_lock_path(id), *driver_log_));
  EXPECT_EQ(nodepool({"delete", id, "--now"}), 0);
  EXPECT_THAT(run(store_.children("/nodepool/nodes")), ElementsAre("0000000001"));
}

// As when the session ends in the middle: another one has the lock by the time the machine is gone.
TEST_F(NodeCommandTest, delete_now_writes_nothing_after_it_has_lost_the_lock) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  auto take_over = [](coordination::Store& store, std::string root) -> async::Task<> {
    const std::vector<std::string> line = co_await store.children(root);
    co_await store.remove(root + "/" + line.at(0), coordination::kAnyVersion);
    co_await store.create(root + "/0123__lock__", "",
                          coordination::CreateMode::ephemeral_sequential);
  };
  driver_log_->meanwhile = [&] { return take_over(store_, model::node_lock_path(id)); };
  EXPECT_EQ(nodepool({"delete", id, "--now"}), 1);
  EXPECT_THAT(err(), HasSubstr("the lock of node 0000000000 was lost"));
  EXPECT_EQ(run(launcher_.node(id)).state, NodeState::deleting);
  EXPECT_THAT(run(launcher_.lock_line(id)), testing::SizeIs(1));
}

TEST_F(NodeCommandTest, delete_now_of_a_machine_that_fails_leaves_it_to_the_launcher) {
  driver_log_->fails = true;
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"delete", id, "--now"}), 1);
  EXPECT_EQ(err(), "nodepool: the machine does not answer\n");
  EXPECT_EQ(driver_log_->lines.back(), "stop");
  EXPECT_EQ(run(launcher_.node(id)).state, NodeState::deleting);
  EXPECT_THAT(run(launcher_.lock_line(id)), IsEmpty());
}

TEST_F(NodeCommandTest, delete_now_needs_the_provider) {
  model::Node node = make_node("small");
  node.provider = "cloud";
  const std::string id = run(launcher_.add_node(node));
  EXPECT_EQ(nodepool({"delete", id, "--now"}), 0);
  EXPECT_EQ(out(), "Provider cloud for node 0000000000 not defined on this launcher\n");
  EXPECT_EQ(run(launcher_.node(id)).state, NodeState::ready);
}

TEST_F(NodeCommandTest, an_impossible_id_is_an_error) {
  EXPECT_EQ(nodepool({"hold", "../requests"}), 1);
  EXPECT_THAT(err(), HasSubstr("invalid argument"));
}

}  // namespace
}  // namespace nodepool::cli
