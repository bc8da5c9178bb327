#pragma once

#include "async/runtime.h"
#include "coordination/error.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// Which failures of a store to retry.

// Whether the store was unreachable or lost the session: a retry may succeed when it is back,
// possibly in another session.
inline bool is_outage(const StoreError& error) {
  using Kind = StoreError::Kind;
  return error.kind() == Kind::disconnected || error.kind() == Kind::unknown_outcome ||
         error.kind() == Kind::session_expired;
}

// Whether a retry may succeed in the same session, with the same locks: the store was unreachable
// or full, an operator may have to change an access control list, or the outcome is unknown.
inline bool may_recover(const StoreError& error) {
  using Kind = StoreError::Kind;
  return error.kind() == Kind::disconnected || error.kind() == Kind::unknown_outcome ||
         error.kind() == Kind::storage || error.kind() == Kind::no_space ||
         error.kind() == Kind::not_permitted;
}

// Whether opening the store again may succeed: after an outage, or when its disk has space.
inline bool is_openable_later(const StoreError& error) {
  return is_outage(error) || error.kind() == StoreError::Kind::no_space;
}

// Waits until the store is back, at most a second, before a retry. Throws Cancelled.
Task<> wait_for_store(async::Runtime runtime, Store& store);

}  // namespace nodepool::coordination
