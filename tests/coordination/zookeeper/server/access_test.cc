// Access to nodes that a store with credentials has created.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>

#include "coordination/tree.h"
#include "tests/coordination/zookeeper/fixture/faults.h"
#include "tests/coordination/zookeeper/fixture/tcp_proxy.h"

namespace nodepool::coordination::zookeeper {
namespace {

class ZooKeeperAccess : public FaultTest {
 protected:
  ZooKeeperAccess() : FaultTest(options_for(shared_ensemble(1), {0}, Security::plain)) {
    options_.digest = {"nodepool", "secret"};
  }

  // Expects that ZooKeeper rejects the operation with the right message.
  template <typename T>
  void expect_refused(const std::string& attempt, Task<T> task) {
    try {
      fixture_.loop().run(std::move(task));
      ADD_FAILURE() << "not rejected: " << attempt;
    } catch (const StoreError& error) {
      EXPECT_EQ(error.what(), "ZooKeeper refuses to " + attempt +
                                  ": an access control list does not permit it (NoAuth)");
    }
  }

  ZooKeeperOptions options_ = fixture_.options();
};

TEST_F(ZooKeeperAccess, what_it_has_made_is_for_its_password_alone) {
  const auto store = fixture_.open(options_);
  run(store->create("/a", "one", CreateMode::persistent));
  Transaction transaction;
  transaction.create("/a/b", "two");
  run(store->commit(std::move(transaction)));

  const auto same = fixture_.open(options_);
  EXPECT_EQ(run(same->get("/a")).data, "one");
  EXPECT_EQ(run(same->get("/a/b")).data, "two");

  ZooKeeperOptions wrong = options_;
  wrong.digest->password = "guessed";
  for (const ZooKeeperOptions& options : {fixture_.options(), wrong}) {
    const auto other = fixture_.open(options);
    expect_refused("read /a", other->get("/a"));
    expect_refused("read /a/b", other->get("/a/b"));
    expect_refused("change /a", other->set("/a", "", kAnyVersion));
    expect_refused("list the children of /a", other->children("/a"));
    expect_refused("create /a/c", other->create("/a/c", "", CreateMode::persistent));
    expect_refused("delete /a/b", other->remove("/a/b", kAnyVersion));
    Transaction changes;
    changes.set("/a/b", "");
    expect_refused("change /a/b", other->commit(std::move(changes)));
  }
}

TEST_F(ZooKeeperAccess, each_connection_is_authenticated) {
  TcpProxy proxy(fixture_, shared_ensemble(1).plain_port(0));
  options_.servers = {{"localhost", proxy.port()}};
  const auto store = fixture_.open(options_);
  run(store->create("/a", "one", CreateMode::persistent));
  StateLog states(fixture_, *store);
  proxy.cut();
  // The next connection may follow at once.
  ASSERT_TRUE(fixture_.run_until(
      [&states] { return std::ranges::count(states.states(), SessionState::suspended) > 0; }));
  EXPECT_EQ(run(store->get("/a")).data, "one");
}

TEST_F(ZooKeeperAccess, without_credentials_nodes_are_open) {
  const auto open = fixture_.open();
  run(open->create("/a", "one", CreateMode::persistent));
  const auto store = fixture_.open(options_);
  EXPECT_EQ(run(store->get("/a")).data, "one");
  run(store->create("/a/mine", "", CreateMode::persistent));
  expect_refused("read /a/mine", open->get("/a/mine"));
  run(open->remove("/a/mine", kAnyVersion));  // governed by the parent's access list
}

TEST_F(ZooKeeperAccess, what_exists_is_not_created_again_where_it_may_not_be) {
  const auto owner = fixture_.open(options_);
  run(ensure_path(*owner, "/a/b"));
  const auto other = fixture_.open();
  run(ensure_path(*other, "/a/b"));
  expect_refused("create /a/c", ensure_path(*other, "/a/c"));
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
