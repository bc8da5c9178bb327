#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "coordination/sqlite/database.h"
#include "coordination/sqlite/live_directory.h"
#include "coordination/sqlite/node_tree.h"

namespace nodepool::coordination::sqlite {

// The sessions of all processes. Each has a row in the database, and a locked file while its
// process lives. Sessions are added, and declared dead, only under the database's write lock, so
// all processes agree. Functions throw like Database.
class Sessions {
 public:
  // The arguments outlive the sessions.
  Sessions(Database& database, LiveDirectory& directory, NodeTree& tree);

  // Adds a session of this process. Call in a write transaction.
  SessionLock open(std::int64_t now);

  bool is_open(std::int64_t session);

  // Throws StoreError(session_expired) for `path` unless the session is open. Call in every
  // transaction that writes as the session: no process can end the session before its commit.
  void require_open(std::int64_t session, std::string_view path);

  // Ends a session, if it is open, and removes its ephemeral nodes. Call in a write transaction.
  void end(std::int64_t session);

  // Whether dead processes have left sessions or files.
  bool any_dead();

  // The sessions whose processes have died, in ascending order.
  std::vector<std::int64_t> dead();

  // Ends these sessions. Call in a write transaction. Several processes may do so concurrently.
  void end_dead();

 private:
  std::vector<std::int64_t> open_sessions();

  LiveDirectory& directory_;
  NodeTree& tree_;
  SqlStatement insert_;
  SqlStatement find_;
  SqlStatement list_;
  SqlStatement delete_;
};

}  // namespace nodepool::coordination::sqlite
