#include "lifecycle/node_writer.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"

namespace nodepool::lifecycle {
namespace {

using coordination::Lock;
using coordination::MemoryServer;
using coordination::MemoryStore;
using coordination::StoreError;
using model::Node;
using model::NodeState;

class NodeWriterTest : public testing::Test {
 protected:
  NodeWriterTest() {
    loop_.run(coordination::ensure_path(other_, std::string(model::kNodesRoot)));
    Node node;
    node.set_state(NodeState::ready, 0);
    const std::string path = loop_.run(other_.create(
        model::node_path(""), to_record(node), coordination::CreateMode::persistent_sequential));
    id_ = std::string(coordination::base_name(path));
    lock_.emplace(store_, random_, model::node_lock_path(id_));
  }

  ~NodeWriterTest() override { loop_.abandon(); }

  Node read() { return model::parse_node(id_, loop_.run(other_.get(model::node_path(id_)))); }

  bool retire(std::function<bool(Node&)> is_due) {
    return loop_.run(lifecycle::retire(writer_, id_, std::move(is_due)));
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  MemoryServer server_;
  MemoryStore store_{server_, runtime_};
  MemoryStore other_{server_, runtime_};
  model::NodeTable nodes_{runtime_, store_,
                          telemetry::Logger{telemetry::Log::to_consumer([](auto&&...) {}), "test"}};
  NodeWriter writer_{runtime_, store_, nodes_};
  std::string id_;
  std::optional<Lock> lock_;
};

TEST_F(NodeWriterTest, a_locked_node_is_saved_again_and_again) {
  loop_.run(lock_->try_acquire());
  Node node = read();
  for (const char* comment : {"one", "two"}) {
    node.comment = comment;
    loop_.run(save_locked(writer_, node, *lock_));
    EXPECT_EQ(read().comment, comment);
    EXPECT_EQ(nodes_.find(id_)->comment, comment);
  }
}

TEST_F(NodeWriterTest, a_node_whose_lock_is_lost_is_not_saved) {
  loop_.run(lock_->try_acquire());
  Node node = read();
  loop_.run(other_.remove(lock_->contender(), coordination::kAnyVersion));
  node.comment = "late";
  EXPECT_THROW(loop_.run(save_locked(writer_, node, *lock_)), StoreError);
  EXPECT_EQ(read().comment, std::nullopt);
}

TEST_F(NodeWriterTest, a_node_is_saved_when_the_store_is_back) {
  loop_.run(lock_->try_acquire());
  Node node = read();
  node.comment = "patient";
  store_.suspend_for_tests();
  std::string failure;
  async::TaskScope scope(
      runtime_, [&failure](const std::string&, const std::string& error) { failure = error; });
  scope.spawn("save", save_locked(writer_, node, *lock_));
  loop_.poll();
  EXPECT_EQ(read().comment, std::nullopt);
  EXPECT_FALSE(scope.empty());
  store_.resume_for_tests();
  loop_.poll();
  EXPECT_EQ(read().comment, "patient");
  EXPECT_TRUE(scope.empty());
  EXPECT_EQ(failure, "");
}

TEST_F(NodeWriterTest, a_node_that_is_due_is_retired) {
  EXPECT_TRUE(retire([](Node& node) {
    node.comment = "worn out";
    return true;
  }));
  EXPECT_EQ(read().state, NodeState::deleting);
  EXPECT_EQ(read().state_time, clock_.wall_seconds());
  EXPECT_EQ(read().comment, "worn out");
  EXPECT_EQ(nodes_.find(id_)->state, NodeState::deleting);
  EXPECT_TRUE(loop_.run(lock_->try_acquire())) << "it is unlocked";
}

TEST_F(NodeWriterTest, a_node_that_is_not_due_any_more_stays) {
  EXPECT_FALSE(retire([](Node& node) {
    node.comment = "not written";
    return false;
  }));
  EXPECT_EQ(read().state, NodeState::ready);
  EXPECT_EQ(read().comment, std::nullopt);
}

TEST_F(NodeWriterTest, a_node_that_is_locked_stays) {
  Lock lock(other_, random_, model::node_lock_path(id_));
  loop_.run(lock.try_acquire());
  EXPECT_FALSE(retire([](Node&) { return true; }));
  EXPECT_EQ(read().state, NodeState::ready);
}

}  // namespace
}  // namespace nodepool::lifecycle
