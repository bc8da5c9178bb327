#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordination/sqlite/change_log.h"
#include "coordination/sqlite/database.h"
#include "coordination/store.h"

namespace nodepool::coordination::sqlite {

// The session and the time of a change.
struct Author {
  std::int64_t session = 0;
  std::int64_t now = 0;  // milliseconds since the epoch
};

// The nodes and ZooKeeper's rules for changing them. Throws the errors that Store documents and
// those of Database. After an error the caller must roll back.
class NodeTree {
 public:
  // Adds every change to `log`. `log` and `database` outlive the tree.
  NodeTree(Database& database, ChangeLog& log);

  Entry get(std::string_view path);
  std::optional<Stat> exists(std::string_view path);
  std::vector<std::string> children(std::string_view path);

  // Executes one operation. Call in a database transaction.
  OperationResult apply(const Transaction::Operation& operation, const Author& author);

  // Executes all operations as one ZooKeeper transaction. Call in a database transaction. Throws
  // TransactionError if one is rejected.
  std::vector<OperationResult> apply(const Transaction& transaction, const Author& author);

  // Hides the ephemeral nodes of these sessions, in ascending order, from a reader, which cannot
  // remove them. Their parents still count them (Stat::num_children).
  void hide_ephemerals(std::vector<std::int64_t> sessions) { hidden_ = std::move(sessions); }

  // Removes the ephemeral nodes of an ended session. Call in a database transaction.
  void remove_ephemerals(std::int64_t session);

 private:
  // The current operation: its author and the id of its transaction, which is the number of the
  // transaction's first change.
  struct Context {
    const Author& author;
    std::int64_t zxid;
  };
  struct Node {
    Stat stat;
    std::int64_t children_created = 0;
  };

  OperationResult apply(const Transaction::Operation& operation, const Context& context);
  OperationResult create(const Transaction::Operation& operation, const Context& context);
  OperationResult set(const Transaction::Operation& operation, const Context& context);
  OperationResult remove(const Transaction::Operation& operation);
  OperationResult check(const Transaction::Operation& operation);

  std::optional<Node> find(std::string_view path);
  static Node node_of(const SqlStatement::Rows& rows);
  Node find_at(std::string_view path, std::int32_t expected);
  void erase(std::string_view path);
  bool is_hidden(std::int64_t owner) const;

  ChangeLog& log_;
  std::vector<std::int64_t> hidden_;  // sessions
  SqlStatement find_;
  SqlStatement get_;
  SqlStatement children_;
  SqlStatement insert_;
  SqlStatement count_new_child_;
  SqlStatement count_removed_child_;
  SqlStatement update_;
  SqlStatement delete_;
  SqlStatement ephemerals_;
};

}  // namespace nodepool::coordination::sqlite
