#pragma once

#include "coordination/error.h"

namespace nodepool::coordination {

// Whether the store was out of reach, or lost the session: what it could not do then it may do when
// it is back.
inline bool is_outage(const StoreError& error) {
  using Kind = StoreError::Kind;
  return error.kind() == Kind::disconnected || error.kind() == Kind::unknown_outcome ||
         error.kind() == Kind::session_expired;
}

}  // namespace nodepool::coordination
