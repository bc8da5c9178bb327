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

// One operation on its way through the database and back to the task that waits for it.
struct Operation {
  enum class Access { read, write };
  using Work = std::function<void(Storage&)>;

  Operation(const async::Executor& loop, Access kind, Work what)
      : access(kind), work(std::move(what)), done(loop) {}

  Access access;
  Work work;                   // may be run twice; throws StoreError
  std::exception_ptr failure;  // afterwards: what went wrong, if anything did
  async::ParkedTask done;      // for the loop's use
};

using Batch = std::vector<std::shared_ptr<Operation>>;

// All files of a store. Its functions block and are called by one thread at a time.
class Storage {
 public:
  // What there is to tell after a batch.
  struct Report {
    std::vector<WatchEvent> changes;  // since the last report, of all processes
    bool unreadable = false;          // the changes could not be read: they come later
    bool unrung = false;              // other processes do not know of ours yet
  };

  // Opens the file or creates it. Throws as open_store().
  explicit Storage(const SqliteOptions& options);

  // Does the operations in order, all changes in one commit: one sync of the disk serves them all.
  // A refused operation leaves the others alone; a failure of the database undoes and fails all
  // writes. An empty batch just looks for changes.
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
  LiveDirectory directory_;  // after the checks: nothing is put beside somebody else's file
  Sessions sessions_;
  bool ring_due_ = false;
};

}  // namespace nodepool::coordination::sqlite
