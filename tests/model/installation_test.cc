#include "model/installation.h"

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "coordination/error.h"
#include "coordination/memory/memory_store.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "model/record.h"

namespace nodepool::model {
namespace {

class InstallationTest : public testing::Test {
 protected:
  Installation establish() { return loop_.run(establish_installation(store_, random_)); }
  Installation find() { return loop_.run(find_installation(store_)); }

  // Creates a node like a launcher.
  std::string make_node() {
    loop_.run(coordination::ensure_path(store_, std::string(kNodesRoot)));
    return loop_.run(
        store_.create(node_path(""), "{}", coordination::CreateMode::persistent_sequential));
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, {loop_.executor(), clock_, random_}};
};

TEST_F(InstallationTest, a_new_store_gets_an_id_and_keeps_it) {
  EXPECT_EQ(find(), Installation());
  const Installation first = establish();
  EXPECT_FALSE(first.id.empty());
  EXPECT_FALSE(first.was_taken_over());
  make_node();
  EXPECT_EQ(establish(), first);
  EXPECT_EQ(find(), first);
}

TEST_F(InstallationTest, a_new_store_loses_no_node_id_by_it) {
  establish();
  EXPECT_EQ(make_node(), node_path("0000000000"));
}

TEST_F(InstallationTest, a_store_that_has_had_nodes_knows_how_many_though_they_are_gone) {
  make_node();
  loop_.run(store_.remove(make_node(), coordination::kAnyVersion));
  const Installation installation = establish();
  EXPECT_TRUE(installation.was_taken_over());
  EXPECT_EQ(installation.first_node, 2);
  EXPECT_GE(make_node(), node_path("0000000002"));
}

TEST_F(InstallationTest, an_existing_root_is_no_node) {
  loop_.run(coordination::ensure_path(store_, std::string(kNodesRoot)));
  EXPECT_FALSE(establish().was_taken_over());
}

TEST_F(InstallationTest, a_record_that_cannot_be_read_is_not_replaced) {
  loop_.run(coordination::ensure_path(store_, std::string(kInstallationPath)));
  EXPECT_THROW(establish(), RecordError);
}

TEST(NodeNumbers, are_read_from_ids) {
  EXPECT_EQ(node_number("0000000012"), 12);
  EXPECT_EQ(node_number(""), std::nullopt);
  EXPECT_EQ(node_number("12a"), std::nullopt);
}

}  // namespace
}  // namespace nodepool::model
