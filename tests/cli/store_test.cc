#include <gmock/gmock.h>

#include "coordination/lock.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using coordination::CreateMode;
using testing::HasSubstr;

// `zookeeper` is another store in memory, every file the store of the fixture.
class StoreTest : public CliTest {
 protected:
  StoreTest() {
    config_ += "zookeeper-servers: [{host: zk1}]\n";
    run(launcher_.stop());  // unregisters it
    run(coordination::ensure_path(store_, std::string(model::kNodesRoot)));
    run(coordination::ensure_path(store_, std::string(model::kRequestsRoot)));
  }

  int copy(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"store", "copy", "sqlite://" + file_, "zookeeper"});
    return nodepool(std::move(more));
  }

  std::string file_ = directory_.write("nodepool.db", "");
  coordination::MemoryStore other_{other_server_, runtime_};
};

TEST_F(StoreTest, records_are_copied_and_new_ids_go_on_after_them) {
  const std::string first = run(launcher_.add_node(make_node("small")));
  const std::string gone = run(launcher_.add_node(make_node("small")));
  run(coordination::remove_tree(store_, model::node_path(gone)));
  run(store_.create(model::request_path("200-"), "{}", CreateMode::persistent_sequential));
  run(coordination::ensure_path(store_, "/nodepool/images/deb/builds/b1/providers/p/images"));
  const std::string upload = "/nodepool/images/deb/builds/b1/providers/p/images/";
  run(store_.create(upload, "{}", CreateMode::persistent_sequential));
  // A lease's contender for a node's lock stays; a process's own does not.
  const std::string lock = model::node_lock_path(first) + "/";
  run(coordination::ensure_path(store_, model::node_lock_path(first)));
  run(store_.create(lock + "a__lock__", "lease 1", CreateMode::persistent_sequential));

  EXPECT_EQ(copy(), 0) << err();
  EXPECT_THAT(out(), HasSubstr("Copied 1 nodes, 1 requests and 1 images from sqlite://" + file_));
  EXPECT_EQ(run(other_.get(model::node_path(first))).data,
            run(store_.get(model::node_path(first))).data);
  EXPECT_EQ(run(other_.get(lock + "a__lock__0000000000")).data, "lease 1");
  EXPECT_FALSE(run(other_.exists(std::string(model::kComponentsRoot))));
  // As many ids as the original had assigned, and those used to read its counter.
  EXPECT_GT(run(other_.create(std::string(model::kNodesRoot) + "/", "",
                              CreateMode::persistent_sequential)),
            model::node_path(gone));
  EXPECT_GT(run(other_.create(model::request_path("200-"), "", CreateMode::persistent_sequential)),
            model::request_path("200-0000000000"));
  EXPECT_GT(run(other_.create(upload, "", CreateMode::persistent_sequential)),
            upload + "0000000000");
  EXPECT_GT(run(other_.create(lock + "b__lock__", "", CreateMode::ephemeral_sequential)),
            lock + "b__lock__0000000000");
}

TEST_F(StoreTest, thousands_of_ids_that_are_gone_are_skipped) {
  const std::string nodes = std::string(model::kNodesRoot) + "/";
  for (int i = 0; i < 2600; ++i) {
    coordination::Transaction transaction;
    transaction.create(nodes + "x", "").remove(nodes + "x");
    run(store_.commit(std::move(transaction)));
  }
  EXPECT_EQ(copy(), 0) << err();
  EXPECT_GE(run(other_.create(nodes, "", CreateMode::persistent_sequential)), nodes + "0000002600");
}

TEST_F(StoreTest, a_registered_daemon_in_either_store_stops_it) {
  for (coordination::MemoryStore* store : {&store_, &other_}) {
    run(coordination::ensure_path(*store, "/nodepool/components/launcher"));
    const std::string path = run(
        store->create("/nodepool/components/launcher/h", "{}", CreateMode::ephemeral_sequential));
    EXPECT_EQ(copy(), 1);
    EXPECT_THAT(err(), HasSubstr("is in use: a daemon is registered as " + path));
    run(store->remove(path, coordination::kAnyVersion));
  }
}

TEST_F(StoreTest, a_lock_that_is_held_stops_it) {
  const std::string node = run(launcher_.add_node(make_node("small")));
  coordination::Lock lock(store_, random_, model::node_lock_path(node));
  ASSERT_TRUE(run(lock.try_acquire()));
  EXPECT_EQ(copy(), 1);
  EXPECT_THAT(err(), HasSubstr("a process has created " + lock.contender()));
}

TEST_F(StoreTest, records_in_the_target_are_replaced_only_when_asked_for) {
  const std::string node = run(launcher_.add_node(make_node("small")));
  run(coordination::ensure_path(other_, "/nodepool/nodes/0000000007"));
  EXPECT_EQ(copy(), 1);
  EXPECT_THAT(err(), HasSubstr("zookeeper already has records: 1 nodes, 0 requests, 0 images"));
  EXPECT_EQ(copy({"--replace"}), 0) << err();
  EXPECT_FALSE(run(other_.exists("/nodepool/nodes/0000000007")));
  EXPECT_TRUE(run(other_.exists(model::node_path(node))));
}

TEST_F(StoreTest, what_is_no_store_or_has_no_records_is_refused) {
  EXPECT_EQ(nodepool({"store", "copy", "zookeeper", "zookeeper"}), 1);
  EXPECT_THAT(err(), HasSubstr("source and target are the same store"));
  EXPECT_EQ(nodepool({"store", "copy", "nodepool.db", "zookeeper"}), 1);
  EXPECT_THAT(err(), HasSubstr("'nodepool.db' is not a store"));
  EXPECT_EQ(nodepool({"store", "copy", "sqlite:///no/such.db", "zookeeper"}), 1);
  EXPECT_THAT(err(), HasSubstr("/no/such.db does not exist"));
  EXPECT_EQ(nodepool({"store", "copy", "zookeeper", "sqlite://" + file_}), 1);
  EXPECT_THAT(err(), HasSubstr("zookeeper has no records"));
  config_ = "labels: []\n";
  EXPECT_EQ(copy(), 1);
  EXPECT_THAT(err(), HasSubstr("zookeeper-servers is missing"));
}

}  // namespace
}  // namespace nodepool::cli
