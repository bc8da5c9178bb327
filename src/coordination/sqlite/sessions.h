#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "coordination/sqlite/database.h"
#include "coordination/sqlite/live_directory.h"
#include "coordination/sqlite/node_tree.h"

namespace nodepool::coordination::sqlite {

// The sessions of all processes: a row in the database for each, and a locked file as long as its
// process lives. Only who holds the database's write lock may decide that a session is dead, and
// new sessions appear under it, so all processes agree. Functions throw as Database.
class Sessions {
 public:
  // The arguments outlive the sessions.
  Sessions(Database& database, LiveDirectory& directory, NodeTree& tree);

  // Adds a session of this process, in a write transaction. It counts once that is committed.
  SessionLock open(std::int64_t now);

  bool is_open(std::int64_t session);

  // Throws StoreError(session_expired), which names `path`, unless the session is open. To be
  // called in every transaction that writes in the session's name: nobody can end the session
  // before its commit.
  void require_open(std::int64_t session, std::string_view path);

  // Ends a session with its ephemeral nodes, in a write transaction. Nothing if it has ended.
  void end(std::int64_t session);

  // Whether anything is left of processes that have died.
  bool any_dead();

  // The sessions whose processes have died, in ascending order.
  std::vector<std::int64_t> dead();

  // Ends their sessions, in a write transaction. Several processes may do so: the first one does
  // the work.
  void end_dead();

 private:
  std::vector<std::int64_t> open_sessions();

  LiveDirectory& directory_;
  NodeTree& tree_;
  Statement insert_;
  Statement find_;
  Statement list_;
  Statement delete_;
};

}  // namespace nodepool::coordination::sqlite
