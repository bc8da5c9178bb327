#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/store.h"

namespace nodepool::coordination::memory {

// The records of one installation and ZooKeeper's rules for changing them. Throws the errors that
// Store documents.
class Tree {
 public:
  // A transaction's results, one for each operation, and its events in order.
  struct Change {
    std::vector<OperationResult> results;
    std::vector<WatchEvent> events;
  };

  Tree();
  ~Tree();

  // Throws no_node, invalid.
  Entry get(std::string_view path) const;

  // The node's stat, or nothing if it does not exist. Throws invalid.
  std::optional<Stat> exists(std::string_view path) const;

  // The names of the children, sorted. Throws no_node, invalid.
  std::vector<std::string> children(std::string_view path) const;

  // Applies all operations as `session`, or none. `now` is in milliseconds since the epoch. Throws
  // TransactionError.
  Change apply(const Transaction& transaction, std::int64_t session, std::int64_t now);

  // Restarts the transaction ids, as in another store.
  void renumber() { last_zxid_ = 0; }

  // Removes the ephemeral nodes of a session that has ended, in one transaction.
  std::vector<WatchEvent> remove_ephemerals(std::int64_t session);

 private:
  struct Node;
  class Writer;

  Node* find(std::string_view path) const;
  Node& find_or_throw(std::string_view path) const;

  std::unique_ptr<Node> root_;
  std::map<std::int64_t, std::set<std::string>> ephemerals_;  // paths by the owner's session
  std::int64_t last_zxid_ = 0;
};

}  // namespace nodepool::coordination::memory
