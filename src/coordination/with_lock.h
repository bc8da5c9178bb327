#pragma once

#include <utility>

#include "async/finally.h"
#include "coordination/lock.h"
#include "coordination/lock_set.h"

namespace nodepool::coordination {

// Runs `work`, which takes or holds `lock`, and releases the lock when the work returns or throws.
// Returns or throws what the work does; throws StoreError of the release.
//
//   Task<> work = change(node, lock);
//   co_await with_lock(lock, std::move(work));
template <typename AnyLock, typename Result>
Task<Result> with_lock(AnyLock& lock, Task<Result> work) {
  return async::finally(std::move(work), [&lock] { return lock.release(); });
}

}  // namespace nodepool::coordination
