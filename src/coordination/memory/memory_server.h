#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "coordination/memory/tree.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// An in-memory server with the tree of one installation, for tests and simulation. It serves any
// number of MemoryStores, on any number of event loops of one thread, and outlives them all.
class MemoryServer {
 public:
  // Gets the changes of one transaction, in order, during the commit.
  using Listener = std::function<void(const std::vector<WatchEvent>&)>;

  // Opens a session and returns its id.
  std::int64_t open_session(Listener listener);

  // Ends a session like its timeout: its ephemeral nodes vanish. Does nothing if it has ended.
  void end_session(std::int64_t session);

  bool has_session(std::int64_t session) const { return listeners_.contains(session); }

  // Commits the transaction atomically and notifies the listeners. `now` is in milliseconds since
  // the epoch. Throws TransactionError.
  std::vector<OperationResult> commit(std::int64_t session, const Transaction& transaction,
                                      std::int64_t now);

  // Restarts the transaction ids: to clients, the server has another store from now on.
  void renumber_for_tests() { tree_.renumber(); }

  // The records, for reads and assertions of tests.
  const memory::Tree& tree() const { return tree_; }

 private:
  void notify(const std::vector<WatchEvent>& events) const;

  memory::Tree tree_;
  std::map<std::int64_t, Listener> listeners_;  // by session
  std::int64_t last_session_ = 0;
};

}  // namespace nodepool::coordination
