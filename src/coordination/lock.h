#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "async/clock.h"
#include "async/random.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// One contender for a lock, compatible with kazoo's `Lock` recipe, which Zuul uses: each contender
// is a sequential child "<32 hex digits>__lock__<10 digits>" of the lock's root; the lowest digits
// hold the lock.
//
// The parent of the root must exist: otherwise the object that the lock protects is gone. A lock
// object is used once: acquire, then release.
class Lock {
 public:
  enum class Lifetime {
    session,     // the contender is ephemeral: the usual case
    persistent,  // it stays until it is removed: a lease that outlives its owner
  };

  // `identifier` is the data of the contender and names the holder.
  Lock(Store& store, async::Random& random, std::string root, std::string identifier = {},
       Lifetime lifetime = Lifetime::session);

  const std::string& root() const { return root_; }

  // The path of this contender; empty if there is none.
  const std::string& contender() const { return contender_; }

  bool held() const { return held_; }

  // Takes the lock if it is free; leaves no contender behind otherwise. Throws StoreError (no_node:
  // the root's parent is gone).
  Task<bool> try_acquire();

  // Waits in the queue of contenders until `deadline`. Throws async::DeadlineExceeded,
  // async::Cancelled or StoreError, and removes the contender first.
  Task<> acquire(async::Clock& clock, async::Clock::TimePoint deadline);

  // Releases the lock or leaves the queue. Does nothing without a contender. Throws StoreError
  // unless the store has a LockSweeper, which then retries the removal.
  Task<> release();

  // Like release(), if the creation of the contender may have succeeded: looks for it.
  Task<> abandon();

  // Like abandon(), but leaves it to the store's LockSweeper, which must exist.
  void leave_to_sweeper();

  // The same in steps, for callers that combine several locks and records in a transaction:
  //
  //   lock.contend_in(transaction, root_exists);
  //   results = co_await store.commit(transaction);
  //   if (!co_await lock.settle(results)) { … leave the queue … }
  //   …
  //   lock.release_in(other); co_await store.commit(other); lock.released();

  // Adds the creation of the contender, and of the root unless `root_exists`, to `transaction`.
  void contend_in(Transaction& transaction, bool root_exists);

  // After the commit: finds the contender in `results` and returns whether it holds the lock.
  // Otherwise the contender stays in the queue. Throws StoreError.
  Task<bool> settle(const std::vector<OperationResult>& results);

  // Adds a check that the contender still exists to `transaction`, while the lock is held, so that
  // nothing is written after an unnoticed loss of the session.
  void check_in(Transaction& transaction) const;

  // Adds the removal of the contender, if there is one, to `transaction`.
  void release_in(Transaction& transaction) const;

  // To be called after that commit.
  void released();

 private:
  Task<> create_contender();
  Task<> find_lost_contender();
  Task<> remove_contender();
  Task<> find_and_remove_contender();
  Task<> completed_by_sweeper(Task<> removal);
  Task<bool> is_lowest();
  Task<> wait_until_lowest(async::Clock& clock, async::Clock::TimePoint deadline);
  CreateMode create_mode() const;

  Store& store_;
  std::string root_;
  std::string identifier_;
  Lifetime lifetime_;
  std::string
      prefix_;  // "<32 hex digits>__lock__": identifies a contender after an unknown outcome
  std::string contender_;
  std::size_t contender_operation_ = 0;
  bool root_is_new_ = false;
  bool held_ = false;
};

// The sequence digits of a contender's name; empty if it is not one.
std::string_view contender_sequence(std::string_view name);

// The contenders among the children of a lock's root, the holder first.
std::vector<std::string> sorted_contenders(std::vector<std::string> children);

// Removes the holder's contender, of any session. Returns whether there was one. Throws StoreError
// (not no_node).
Task<bool> force_unlock(Store& store, std::string root);

}  // namespace nodepool::coordination
