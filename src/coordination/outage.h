#pragma once

#include "async/runtime.h"
#include "coordination/error.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// What failures of a store say about another attempt.

// Whether the store was out of reach, or lost the session: what it could not do then it may do when
// it is back, perhaps in another session.
inline bool is_outage(const StoreError& error) {
  using Kind = StoreError::Kind;
  return error.kind() == Kind::disconnected || error.kind() == Kind::unknown_outcome ||
         error.kind() == Kind::session_expired;
}

// Whether it may do better soon in the same session, with the locks that are held: it was out of
// reach, or full, or its answer was lost.
inline bool may_recover(const StoreError& error) {
  using Kind = StoreError::Kind;
  return error.kind() == Kind::disconnected || error.kind() == Kind::unknown_outcome ||
         error.kind() == Kind::storage;
}

// Before another attempt after an outage: returns when the store is back, or after a second. Throws
// Cancelled.
Task<> wait_for_store(async::Runtime runtime, Store& store);

}  // namespace nodepool::coordination
