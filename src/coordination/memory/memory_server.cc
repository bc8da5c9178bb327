#include "coordination/memory/memory_server.h"

#include <utility>

namespace nodepool::coordination {

std::int64_t MemoryServer::open_session(Listener listener) {
  listeners_.emplace(++last_session_, std::move(listener));
  return last_session_;
}

void MemoryServer::end_session(std::int64_t session) {
  if (listeners_.erase(session) == 0) return;
  notify(tree_.remove_ephemerals(session));
}

std::vector<OperationResult> MemoryServer::commit(std::int64_t session,
                                                  const Transaction& transaction,
                                                  std::int64_t now) {
  memory::Tree::Change change = tree_.apply(transaction, session, now);
  notify(change.events);
  return std::move(change.results);
}

void MemoryServer::notify(const std::vector<WatchEvent>& events) const {
  for (const auto& [session, listener] : listeners_) listener(events);
}

}  // namespace nodepool::coordination
