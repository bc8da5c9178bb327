#pragma once

#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// Commits `transaction` again and again until it is known what became of it: while the store is out
// of reach, or full, it waits. If the answer to an attempt was lost, the effects tell whether it
// has happened.
//
// The transaction is one that cannot happen twice: it names the version of each record that it
// writes, and it holds, or gives up, locks of this session.
//
// Of an attempt whose answer was lost, the results are what can still be read: the path of a
// sequential node is empty, and so is (mzxid 0) the stat of a record that has been changed again.
//
// Throws TransactionError if it is refused; StoreError (session_expired, closed) if the session is
// gone, and with it the locks: then others see what has happened; Cancelled from its waits.
Task<std::vector<OperationResult>> commit_until_known(async::Runtime runtime, Store& store,
                                                      Transaction transaction);

}  // namespace nodepool::coordination
