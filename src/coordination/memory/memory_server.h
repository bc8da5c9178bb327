#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "coordination/memory/tree.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// The shared tree of one installation inside this process, for tests and simulation: what a
// ZooKeeper server is to its clients. It serves any number of MemoryStores, on any number of event
// loops of one thread, and outlives them all.
class MemoryServer {
 public:
  // Told of the changes of one transaction, in order, while it is being committed.
  using Listener = std::function<void(const std::vector<WatchEvent>&)>;

  // Opens a session and returns its id.
  std::int64_t open_session(Listener listener);

  // Ends a session, as its time-out would: its ephemeral nodes vanish. Harmless when it has ended
  // before.
  void end_session(std::int64_t session);

  bool has_session(std::int64_t session) const { return listeners_.contains(session); }

  // Does all of the transaction, or nothing, and tells the listeners. `now` is in milliseconds
  // since the epoch. Throws TransactionError.
  std::vector<OperationResult> commit(std::int64_t session, const Transaction& transaction,
                                      std::int64_t now);

  // The next transaction is numbered as the first one: what is written from now on is another
  // store, as far as clients can tell.
  void renumber_for_tests() { tree_.renumber(); }

  // The records as they are, without any waiting: for reads, and for what a test asserts.
  const memory::Tree& tree() const { return tree_; }

 private:
  void tell(const std::vector<WatchEvent>& events) const;

  memory::Tree tree_;
  std::map<std::int64_t, Listener> listeners_;  // by session
  std::int64_t last_session_ = 0;
};

}  // namespace nodepool::coordination
