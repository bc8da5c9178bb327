#include "lifecycle/reclaim.h"

#include <string>
#include <utility>
#include <vector>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "driver/launch.h"
#include "model/paths.h"

namespace nodepool::lifecycle {

using coordination::Lock;
using coordination::OperationResult;
using coordination::Store;
using coordination::StoreError;
using coordination::Transaction;
using coordination::TransactionError;
using model::Node;
using model::NodeState;

namespace {

class LockedNode final : public driver::NodeRecord {
 public:
  LockedNode(const NodeWriter& writer, Node node, const Lock& lock, std::optional<double> released)
      : writer_(writer), node_(std::move(node)), lock_(lock), released_(released) {}

  Node& node() override { return node_; }
  std::optional<double> released() const override { return released_; }
  Task<> save() override { return save_locked(writer_, node_, lock_); }

 private:
  NodeWriter writer_;
  Node node_;
  const Lock& lock_;
  std::optional<double> released_;
};

// Removes what does not belong below a node's record.
Task<> remove_foreign_children(Store& store, std::string node, std::string lock) {
  for (const std::string& name : co_await store.children(node)) {
    std::string path = coordination::join_path(node, name);
    if (path != lock) co_await coordination::remove_tree(store, std::move(path));
  }
}

// Commits `replacement`'s creation and the lock's release, together with the removal of the record
// and of all other contenders: these find no record, or an empty one.
Task<std::vector<OperationResult>> commit_removal(Store& store, const Node& node, const Lock& lock,
                                                  const Transaction& first) {
  std::vector<std::string> others;
  while (true) {
    bool has_foreign_children = false;
    Transaction attempt = first;
    for (const std::string& other : others) attempt.remove(other);
    attempt.remove(lock.root());
    attempt.remove(model::node_path(node.id), node.stat.version);
    try {
      co_return co_await store.commit(std::move(attempt));
    } catch (const TransactionError& error) {
      const std::size_t at_root = first.size() + others.size();
      const bool is_other = error.index() >= first.size() && error.index() < at_root;
      const bool is_not_empty = error.kind() == StoreError::Kind::not_empty;
      const bool contenders_changed = (is_not_empty && error.index() == at_root) ||
                                      (is_other && error.kind() == StoreError::Kind::no_node);
      has_foreign_children = is_not_empty && error.index() == at_root + 1;
      if (!contenders_changed && !has_foreign_children) throw;
    }
    if (has_foreign_children) {
      co_await remove_foreign_children(store, model::node_path(node.id), lock.root());
    }
    others.clear();
    for (const std::string& name : co_await store.children(lock.root())) {
      std::string path = coordination::join_path(lock.root(), name);
      if (path != lock.contender()) others.push_back(std::move(path));
    }
  }
}

}  // namespace

Task<std::optional<Node>> reclaim(NodeWriter writer, driver::Provider& provider, Node node,
                                  Lock& lock, std::optional<double> released) {
  LockedNode locked(writer, std::move(node), lock, released);
  if (locked.node().state != NodeState::deleting) {
    locked.node().set_state(NodeState::deleting, writer.runtime.clock.wall_seconds());
    co_await locked.save();
  }
  std::optional<Node> replacement = co_await provider.reclaim(locked);
  Transaction first;
  if (replacement) {
    first.create(model::node_path(""), to_record(*replacement),
                 coordination::CreateMode::persistent_sequential);
  }
  lock.release_in(first);
  const auto results = co_await commit_removal(writer.store, locked.node(), lock, first);
  lock.released();
  if (replacement) {
    replacement->id = coordination::base_name(results.front().path);
    replacement->stat = results.front().stat;
  }
  if (replacement) writer.nodes.written(*replacement, replacement->stat);
  writer.nodes.removed(locked.node().id);
  co_return replacement;
}

}  // namespace nodepool::lifecycle
