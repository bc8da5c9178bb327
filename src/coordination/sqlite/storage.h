#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/parking.h"
#include "coordination/sqlite/change_log.h"
#include "coordination/sqlite/database.h"
#include "coordination/sqlite/live_directory.h"
#include "coordination/sqlite/node_tree.h"
#include "coordination/sqlite/sessions.h"
#include "coordination/sqlite/sqlite_store.h"
#include "coordination/store.h"

namespace nodepool::coordination::sqlite {

class Storage;

// An operation on the database and the task that waits for it.
struct Operation {
  enum class Access { read, write };
  using Work = std::function<void(Storage&)>;

  Operation(const async::Executor& loop, Access kind, Work what)
      : access(kind), work(std::move(what)), done(loop) {}

  Access access;
  Work work;                   // may be run twice; throws StoreError
  std::exception_ptr failure;  // afterwards: the error, if any
  async::ParkedTask done;      // for the loop's use
};

using Batch = std::vector<std::shared_ptr<Operation>>;

// All files of a store. Functions block. One thread at a time may call them.
class Storage {
 public:
  // The result of a batch.
  struct Report {
    std::vector<WatchEvent> changes;  // since the last report, of all processes
    std::string unreadable;           // why the changes could not be read; a later report has them
    bool unsignalled = false;         // other processes have not been notified yet
  };

  // Opens or creates the file. Throws like open_store().
  explicit Storage(const SqliteOptions& options);

  // Executes the operations in order, with one commit and thus one sync of the disk. A rejected
  // operation does not affect the others. A failure of the database rolls back and fails all
  // writes. An empty batch just reads changes.
  Report execute(const Batch& batch);

  // For operations.
  NodeTree& tree() { return tree_; }
  Sessions& sessions() { return sessions_; }
  const LiveDirectory& directory() const { return directory_; }

 private:
  void execute_writes(const Batch& batch);
  void execute_reads(const Batch& batch);
  void execute_apart(Operation& operation);
  Report report();

  Database database_;
  ChangeLog changes_;
  NodeTree tree_;
  LiveDirectory directory_;  // after the checks, which may reject the file
  Sessions sessions_;
  bool signal_due_ = false;
};

}  // namespace nodepool::coordination::sqlite
