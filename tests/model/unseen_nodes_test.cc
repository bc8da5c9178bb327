// A table without events, which only has own writes and reads.

#include "model/unseen_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"

namespace nodepool::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class UnseenNodesTest : public testing::Test {
 protected:
  UnseenNodesTest() { loop_.run(coordination::ensure_path(store_, std::string(kNodesRoot))); }

  std::string create() {
    const std::string path = loop_.run(store_.create(
        node_path(""), to_record(Node()), coordination::CreateMode::persistent_sequential));
    return std::string(coordination::base_name(path));
  }

  void tell_of(const std::string& id) { nodes_.seen(id, loop_.run(store_.get(node_path(id)))); }

  void read_before(const std::string& id) {
    loop_.run(read_unseen_nodes(runtime_, store_, nodes_, id));
  }

  std::vector<std::string> known() const {
    std::vector<std::string> ids;
    for (const auto& [id, node] : nodes_.all()) ids.push_back(id);
    return ids;
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{3};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  telemetry::Logger log_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {},
                                  telemetry::LogLevel::error),
      "test"};
  NodeTable nodes_{runtime_, store_, log_};
};

// A failed read is repeated later, and own records are known at once.
TEST_F(UnseenNodesTest, that_a_newer_node_is_known_does_not_say_that_the_older_ones_are) {
  const std::string unseen = create();
  const std::string newer = create();
  const std::string own = create();
  tell_of(newer);
  tell_of(own);
  read_before(own);
  EXPECT_THAT(known(), ElementsAre(unseen, newer, own));
}

TEST_F(UnseenNodesTest, what_comes_after_the_own_record_does_not_count) {
  const std::string own = create();
  create();
  read_before(own);
  EXPECT_THAT(known(), IsEmpty());
}

TEST_F(UnseenNodesTest, what_has_been_seen_once_is_not_read_again) {
  const std::string gone = create();
  const std::string own = create();
  read_before(own);
  tell_of(own);
  nodes_.removed(gone);
  const std::string next = create();
  read_before(next);
  EXPECT_THAT(known(), ElementsAre(own));
}

TEST_F(UnseenNodesTest, of_many_nodes_only_those_that_are_there_are_read) {
  for (int i = 0; i < 100; ++i) {
    loop_.run(coordination::remove_tree(store_, node_path(create())));
  }
  const std::string unseen = create();
  const std::string own = create();
  read_before(own);
  EXPECT_THAT(known(), ElementsAre(unseen));
}

TEST_F(UnseenNodesTest, all_are_read_whatever_their_ids) {
  const std::string first = create();
  const std::string second = create();
  read_before({});
  EXPECT_THAT(known(), ElementsAre(first, second));
  const std::string own = create();
  read_before(own);
  EXPECT_EQ(nodes_.seen_before(), own);
}

TEST_F(UnseenNodesTest, a_table_that_has_become_complete_has_seen_what_was_there) {
  create();
  const std::string newest = create();
  loop_.run(
      store_.create(node_path("zzz"), to_record(Node()), coordination::CreateMode::persistent));
  async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
  scope.spawn("nodes", nodes_.run());
  loop_.poll();
  EXPECT_EQ(nodes_.seen_before(), newest);
  loop_.run(scope.stop());
}

}  // namespace
}  // namespace nodepool::model
