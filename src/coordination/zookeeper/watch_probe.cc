#include "coordination/zookeeper/watch_probe.h"

#include <utility>

#include "coordination/path.h"
#include "coordination/tree.h"

namespace nodepool::coordination::zookeeper {

Task<> require_recursive_watches(Store& store, std::string root) {
  co_await ensure_path(store, root);
  const std::string probe = join_path(root, "probe-" + std::to_string(store.session_id()));
  bool reported = false;
  // A server sends the event of a change before the response to it, so the event has arrived when
  // the node has been created.
  const Subscription watching = store.watch(root, [&reported, probe](const WatchEvent& event) {
    reported = reported || event.path == probe;
  });
  co_await store.create(probe, "", CreateMode::ephemeral);
  co_await store.remove(probe, kAnyVersion);
  if (reported) co_return;
  throw StoreError(StoreError::Kind::storage,
                   "ZooKeeper's server reports changes below a recursive watch without the path of "
                   "the changed node, like ClickHouse Keeper, so Nodepool would miss them: use "
                   "Apache ZooKeeper 3.6 or later");
}

}  // namespace nodepool::coordination::zookeeper
