#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "coordination/sqlite/database.h"
#include "coordination/store.h"

namespace nodepool::coordination::sqlite {

// The latest changes of the tree, numbered without gaps in the order of their commits, for the
// watches of all processes. Functions throw as Database.
class ChangeLog {
 public:
  // How many changes are kept at least. A process that is stopped for longer starts its watches
  // anew.
  static constexpr std::int64_t kLength = 10'000;

  // Follows the log from where it ends now.
  explicit ChangeLog(Database& database);

  // The number of the newest change, 0 if there was none.
  std::int64_t last();

  // Adds a change, in a transaction.
  void append(WatchEvent::Kind kind, std::string_view path);

  // Forgets old changes if there are many of them, in a transaction.
  void prune();

  // The changes since the last call, of all processes, in order. After a gap, because they were
  // pruned meanwhile, it is a single resync.
  std::vector<WatchEvent> read_new();

 private:
  Statement last_;
  Statement first_;
  Statement append_;
  Statement prune_;
  Statement read_;
  std::int64_t seen_;
};

}  // namespace nodepool::coordination::sqlite
