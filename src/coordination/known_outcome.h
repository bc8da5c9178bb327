#pragma once

#include <utility>
#include <vector>

#include "async/runtime.h"
#include "coordination/outage.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// Commits `transaction` and retries until its outcome is known. Waits while the store is
// unreachable or full, or a quota above one of the records is exhausted. After an unknown outcome,
// it determines from the records whether the transaction has happened.
//
// The transaction must not be able to happen twice: it gives the version of each record that it
// writes, and checks or removes contenders of locks of this session.
//
// After an unknown outcome, the results are what can still be read: the path of a sequential node
// is empty, and so is the stat (mzxid 0) of a record that has been changed again.
//
// Throws TransactionError if the store rejects it, or if an access control list of one of the
// records does not permit it: that must not hold the locks of the others. Throws StoreError
// (session_expired, closed) if the session is gone with its locks, with the outcome left unknown;
// Cancelled while it waits.
Task<std::vector<OperationResult>> commit_until_known(async::Runtime runtime, Store& store,
                                                      Transaction transaction);

// Awaits a later step of a change that has happened in part, or whose outcome is unknown. If the
// store fails, the outcome of the change is unknown, whatever is known of the step: throws
// StoreError (unknown_outcome). Otherwise throws as the step does.
template <typename Result>
Task<Result> continue_change(Task<Result> step) {
  try {
    co_return co_await std::move(step);
  } catch (const StoreError& error) {
    if (!may_recover(error)) throw;
    throw StoreError(StoreError::Kind::unknown_outcome, error.what());
  }
}

}  // namespace nodepool::coordination
