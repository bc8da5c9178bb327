#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "coordination/sqlite/database.h"
#include "coordination/store.h"

namespace nodepool::coordination::sqlite {

// The latest changes of the tree for the watches of all processes, numbered without gaps in commit
// order. Functions throw like Database.
class ChangeLog {
 public:
  // The minimum number of changes kept. A process that misses more resyncs its watches.
  static constexpr std::int64_t kLength = 10'000;

  // Follows the log from its current end.
  explicit ChangeLog(Database& database);

  // The number of the latest change; 0 if there is none.
  std::int64_t last();

  // Adds a change. Call in a transaction.
  void append(WatchEvent::Kind kind, std::string_view path);

  // Deletes old changes if there are many. Call in a transaction.
  void prune();

  // The changes of all processes since the last call, in order; a single resync if some of them
  // have been pruned.
  std::vector<WatchEvent> read_new();

 private:
  SqlStatement last_;
  SqlStatement first_;
  SqlStatement append_;
  SqlStatement prune_;
  SqlStatement read_;
  std::int64_t seen_;
};

}  // namespace nodepool::coordination::sqlite
