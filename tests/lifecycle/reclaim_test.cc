#include "lifecycle/reclaim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"

namespace nodepool::lifecycle {
namespace {

using async::Task;
using coordination::CreateMode;
using coordination::Lock;
using coordination::MemoryServer;
using coordination::MemoryStore;
using coordination::StoreError;
using model::Node;
using model::NodeState;
using testing::ElementsAre;
using testing::IsEmpty;

// A provider that does what a test says.
class ScriptedProvider final : public driver::Provider {
 public:
  const driver::ProviderConfig& config() const override { throw std::logic_error("not asked"); }
  Task<> start() override { co_return; }
  void quiesce() override {}
  Task<> stop() override { co_return; }
  Task<bool> is_usable(std::string /*node_id*/) override { co_return true; }

  Task<std::optional<Node>> reclaim(driver::NodeRecord& record) override {
    state_seen = record.node().state;
    released_seen = record.released();
    if (saves) {
      record.node().comment = "half";
      co_await record.save();
    }
    co_await on_reclaim();
    co_return replacement;
  }

  bool saves = false;
  std::function<Task<>()> on_reclaim = []() -> Task<> { co_return; };
  std::optional<Node> replacement;
  NodeState state_seen = NodeState::init;
  std::optional<double> released_seen;
};

class ReclaimTest : public testing::Test {
 protected:
  ReclaimTest() {
    loop_.run(coordination::ensure_path(store_, std::string(model::kNodesRoot)));
    Node node;
    node.set_state(NodeState::used, 0);
    const std::string path = loop_.run(
        store_.create(model::node_path(""), to_record(node), CreateMode::persistent_sequential));
    id_ = std::string(coordination::base_name(path));
    lock_.emplace(store_, random_, model::node_lock_path(id_));
    loop_.run(lock_->try_acquire());
  }

  Node read(const std::string& id) {
    return model::parse_node(id, loop_.run(store_.get(model::node_path(id))));
  }

  std::vector<std::string> ids() {
    return loop_.run(store_.children(std::string(model::kNodesRoot)));
  }

  std::optional<Node> reclaim() {
    return loop_.run(
        lifecycle::reclaim({runtime_, store_, nodes_}, provider_, read(id_), *lock_, 7));
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
  ScriptedProvider provider_;
  std::string id_;
  std::optional<Lock> lock_;
};

TEST_F(ReclaimTest, the_record_and_its_lock_are_removed) {
  EXPECT_EQ(reclaim(), std::nullopt);
  EXPECT_EQ(provider_.state_seen, NodeState::deleting);
  EXPECT_EQ(provider_.released_seen, 7);
  EXPECT_THAT(ids(), IsEmpty());
  EXPECT_FALSE(lock_->held());
}

TEST_F(ReclaimTest, what_others_have_put_below_the_record_is_removed_too) {
  loop_.run(coordination::ensure_path(other_, model::node_path(id_) + "/notes/of-others"));
  EXPECT_EQ(reclaim(), std::nullopt);
  EXPECT_THAT(ids(), IsEmpty());
}

TEST_F(ReclaimTest, what_is_below_a_contender_of_the_lock_is_an_error_and_no_endless_loop) {
  const std::string contender = model::node_lock_path(id_) + "/other__lock__0000000009";
  loop_.run(coordination::ensure_path(other_, contender + "/notes"));
  EXPECT_THROW(reclaim(), StoreError);
}

TEST_F(ReclaimTest, a_replacement_takes_the_place_of_the_record) {
  provider_.replacement.emplace();
  provider_.replacement->set_state(NodeState::ready, 0);
  const std::optional<Node> replacement = reclaim();
  ASSERT_TRUE(replacement);
  EXPECT_NE(replacement->id, id_);
  EXPECT_THAT(ids(), ElementsAre(replacement->id));
  EXPECT_EQ(read(replacement->id).stat, replacement->stat);
}

TEST_F(ReclaimTest, other_contenders_of_the_lock_do_not_prevent_it) {
  Lock waiting(other_, random_, model::node_lock_path(id_));
  EXPECT_FALSE(loop_.run(waiting.try_acquire()));
  provider_.on_reclaim = [this]() -> Task<> {
    const std::string contender = model::node_lock_path(id_) + "/late__lock__";
    co_await other_.create(contender, "", CreateMode::ephemeral_sequential);
  };
  EXPECT_EQ(reclaim(), std::nullopt);
  EXPECT_THAT(ids(), IsEmpty());
}

TEST_F(ReclaimTest, without_the_lock_nothing_is_written) {
  provider_.saves = true;
  const std::string contender = lock_->contender();
  provider_.on_reclaim = []() -> Task<> {
    ADD_FAILURE() << "the record was saved";
    co_return;
  };
  loop_.run(other_.remove(contender, coordination::kAnyVersion));
  EXPECT_THROW(reclaim(), StoreError);
  EXPECT_EQ(read(id_).state, NodeState::used);
}

TEST_F(ReclaimTest, a_lock_that_is_lost_meanwhile_keeps_the_record) {
  provider_.on_reclaim = [this]() -> Task<> {
    co_await other_.remove(lock_->contender(), coordination::kAnyVersion);
  };
  EXPECT_THROW(reclaim(), StoreError);
  EXPECT_EQ(read(id_).state, NodeState::deleting);
}

TEST_F(ReclaimTest, what_the_provider_saves_is_kept_after_a_failure) {
  provider_.saves = true;
  provider_.on_reclaim = []() -> Task<> {
    throw std::runtime_error("the cloud failed");
    co_return;
  };
  EXPECT_THROW(reclaim(), std::runtime_error);
  EXPECT_EQ(read(id_).comment, "half");
}

}  // namespace
}  // namespace nodepool::lifecycle
