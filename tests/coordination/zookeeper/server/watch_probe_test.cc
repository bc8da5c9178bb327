// Detects servers with defective recursive watches.
#include "coordination/zookeeper/watch_probe.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "tests/coordination/zookeeper/fixture/faults.h"
#include "tests/coordination/zookeeper/fixture/tcp_proxy.h"

namespace nodepool::coordination::zookeeper {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = StoreError::Kind;

class ZooKeeperWatchProbe : public FaultTest {
 protected:
  ZooKeeperWatchProbe()
      : FaultTest(options_for(shared_ensemble(1), {0}, Security::plain)),
        other_(fixture_.open()),
        proxy_(fixture_, shared_ensemble(1).plain_port(0)) {}

  std::unique_ptr<ZooKeeperStore> open_through_proxy() {
    ZooKeeperOptions options = fixture_.options();
    options.servers = {{test_support::kLoopback, proxy_.port()}};
    return fixture_.open(options);
  }

  static Task<bool> probe(Store& store) {
    co_await require_recursive_watches(store, "/nodepool");
    co_return true;
  }

  std::unique_ptr<Store> other_;
  TcpProxy proxy_;
};

TEST_F(ZooKeeperWatchProbe, servers_that_report_the_changed_node_pass_and_keep_nothing) {
  const auto store = open_through_proxy();
  EXPECT_TRUE(run(probe(*store)));
  EXPECT_THAT(run(other_->children("/nodepool")), IsEmpty());
  // With existing records, and in several concurrent sessions.
  run(other_->create("/nodepool/nodes", "", CreateMode::persistent));
  Outcome<bool> one;
  Outcome<bool> two;
  start(probe(*store), one);
  start(probe(*other_), two);
  ASSERT_TRUE(run_until_known(one) && run_until_known(two));
  EXPECT_TRUE(one.value && two.value);
  EXPECT_THAT(run(other_->children("/nodepool")), ElementsAre("nodes"));
}

TEST_F(ZooKeeperWatchProbe, servers_that_report_the_path_of_the_watch_are_refused) {
  proxy_.report_changes_as_of(fixture_.options().chroot + "/nodepool");
  const auto store = open_through_proxy();
  try {
    run(probe(*store));
    FAIL() << "passed";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), Kind::storage);
    EXPECT_THAT(error.what(), HasSubstr("without the path of the changed node"));
  }
  EXPECT_THAT(run(other_->children("/nodepool")), IsEmpty());
}

TEST_F(ZooKeeperWatchProbe, a_session_that_dies_meanwhile_leaves_nothing) {
  run(other_->create("/nodepool", "", CreateMode::persistent));
  auto store = open_through_proxy();
  const Subscription watching = other_->watch("/nodepool", [this](const WatchEvent& event) {
    if (event.kind != WatchEvent::Kind::created) return;
    proxy_.refuse(true);
    proxy_.cut();
  });
  run(other_->exists("/nodepool"));  // its response follows the one that sets the watch
  Outcome<bool> outcome;
  start(probe(*store), outcome);
  StateLog states(fixture_, *store);
  ASSERT_TRUE(states.run_until(SessionState::suspended));
  fixture_.kill(std::move(store));
  EXPECT_THAT(run(other_->children("/nodepool")), IsEmpty());
  EXPECT_TRUE(run_until_known(outcome));
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
