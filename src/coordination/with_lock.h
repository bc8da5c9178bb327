#pragma once

#include <utility>

#include "async/finally.h"
#include "coordination/lock.h"
#include "coordination/lock_set.h"

namespace nodepool::coordination {

// Runs `work`, which takes `lock` or has it already, and gives up what is held of it when the work
// has ended, however it has. Returns or throws what the work does; StoreError of the release.
//
//   Task<> work = change(node, lock);
//   co_await with_lock(lock, std::move(work));
template <typename AnyLock, typename Result>
Task<Result> with_lock(AnyLock& lock, Task<Result> work) {
  return async::finally(std::move(work), [&lock] { return lock.release(); });
}

}  // namespace nodepool::coordination
