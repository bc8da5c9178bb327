#include "coordination/zookeeper/watch_probe.h"

#include <utility>

#include "coordination/path.h"
#include "coordination/tree.h"

namespace nodepool::coordination::zookeeper {

Task<> require_recursive_watches(Store& store, std::string root) {
  co_await ensure_path(store, root);
  const std::string probe = join_path(root, "probe-" + std::to_string(store.session_id()));
  bool reported = false;
  // A server answers in order, and tells of a change before it answers who has made it: when the
  // node has been created, its event has come.
  const Subscription watching = store.watch(root, [&reported, probe](const WatchEvent& event) {
    reported = reported || event.path == probe;
  });
  co_await store.create(probe, "", CreateMode::ephemeral);
  co_await store.remove(probe, kAnyVersion);
  if (reported) co_return;
  throw StoreError(StoreError::Kind::storage,
                   "ZooKeeper's server reports changes below a recursive watch without the path of "
                   "the changed node (known of ClickHouse Keeper), so Nodepool would not see them: "
                   "use Apache ZooKeeper 3.6 or later");
}

}  // namespace nodepool::coordination::zookeeper
