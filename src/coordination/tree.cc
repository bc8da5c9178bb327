#include "coordination/tree.h"

#include <utility>

#include "coordination/path.h"

namespace nodepool::coordination {

using Kind = StoreError::Kind;

Task<std::optional<Entry>> find(Store& store, std::string path) {
  try {
    co_return co_await store.get(std::move(path));
  } catch (const StoreError& error) {
    if (error.kind() != Kind::no_node) throw;
  }
  co_return std::nullopt;
}

Task<std::vector<std::string>> find_children(Store& store, std::string path) {
  try {
    co_return co_await store.children(std::move(path));
  } catch (const StoreError& error) {
    if (error.kind() != Kind::no_node) throw;
  }
  co_return std::vector<std::string>();
}

Task<> ensure_path(Store& store, std::string path) {
  std::optional<StoreError> refusal;
  try {
    co_await store.create(path, {}, CreateMode::persistent);
    co_return;
  } catch (const StoreError& error) {
    if (error.kind() == Kind::node_exists) co_return;
    refusal = error;
  }
  // ZooKeeper checks the access control list of the parent first, also if the node exists.
  if (refusal->kind() == Kind::not_permitted && co_await store.exists(path)) co_return;
  if (refusal->kind() != Kind::no_node || path == "/") throw StoreError(*refusal);
  co_await ensure_path(store, std::string(parent_path(path)));
  co_await ensure_path(store, std::move(path));
}

Task<std::vector<OperationResult>> commit_with_parents(Store& store, Transaction transaction) {
  std::string orphan;
  try {
    co_return co_await store.commit(transaction);
  } catch (const TransactionError& error) {
    const Transaction::Operation& refused = transaction.operations().at(error.index());
    if (error.kind() != Kind::no_node || refused.kind != Transaction::Kind::create) throw;
    orphan = refused.path;
  }
  co_await ensure_path(store, std::string(parent_path(orphan)));
  co_return co_await store.commit(std::move(transaction));
}

Task<> remove_tree(Store& store, std::string path) {
  while (true) {
    try {
      const std::vector<std::string> names = co_await store.children(path);
      for (const std::string& name : names) co_await remove_tree(store, join_path(path, name));
      co_await store.remove(path, kAnyVersion);
      co_return;
    } catch (const StoreError& error) {
      if (error.kind() == Kind::no_node) co_return;
      if (error.kind() != Kind::not_empty) throw;
      // Another process has created a child, such as a contender: remove it as well.
    }
  }
}

}  // namespace nodepool::coordination
