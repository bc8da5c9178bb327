#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "async/clock.h"
#include "async/random.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// One contender for a lock, in the layout of kazoo's `Lock` recipe, so that Zuul and other clients
// contend with it: below the lock's root every contender has a sequential child
// "<32 hex digits>__lock__<10 digits>"; the one with the lowest digits holds the lock.
//
// The root is one node whose parent must exist (a vanished parent means that what the lock protects
// is gone). A lock object is used once: acquire, then release.
class Lock {
 public:
  enum class Lifetime {
    session,     // the contender vanishes with the session: the usual case
    persistent,  // it stays until somebody removes it: a lease that survives its owner
  };

  // `identifier` is stored in the contender, for whoever asks who holds the lock.
  Lock(Store& store, async::Random& random, std::string root, std::string identifier = {},
       Lifetime lifetime = Lifetime::session);

  const std::string& root() const { return root_; }

  // Path of the own contender; empty while there is none.
  const std::string& contender() const { return contender_; }

  bool held() const { return held_; }

  // Takes the lock if nobody has it; leaves no contender behind otherwise. Throws StoreError
  // (no_node: the root's parent is gone).
  Task<bool> try_acquire();

  // Waits for the lock until `deadline`, in line with the other contenders. Throws
  // async::DeadlineExceeded or async::Cancelled, having left the line, or StoreError.
  Task<> acquire(async::Clock& clock, async::Clock::TimePoint deadline);

  // Gives the lock up, or leaves the line. Harmless without a contender. Throws StoreError, unless
  // the store has a LockSweeper, which then completes it.
  Task<> release();

  // As release(), for when a write that made the contender was left without an answer: looks for
  // it.
  Task<> abandon();

  // The same in steps, for callers that group the writes of several locks and records:
  //
  //   lock.contend_in(transaction, root_exists);
  //   results = co_await store.commit(transaction);
  //   if (!co_await lock.settle(results)) { … leave the line … }
  //   …
  //   lock.release_in(other); co_await store.commit(other); lock.released();

  // Adds the creation of the contender, and of the root unless `root_exists`, to `transaction`.
  void contend_in(Transaction& transaction, bool root_exists);

  // After the commit: finds the contender in `results` and returns whether it holds the lock.
  // A contender that does not stays in line. Throws StoreError.
  Task<bool> settle(const std::vector<OperationResult>& results);

  // Adds the check that the contender is still there to `transaction`, while the lock is held: who
  // has lost the lock with the session, and does not know, writes nothing.
  void check_in(Transaction& transaction) const;

  // Adds the removal of the contender to `transaction`; nothing if there is none.
  void release_in(Transaction& transaction) const;

  // After that commit.
  void released();

 private:
  Task<> create_contender();
  Task<> find_lost_contender();
  Task<> remove_contender();
  Task<> find_and_remove_contender();
  Task<> completed_by_sweeper(Task<> removal);
  Task<bool> is_lowest();
  Task<> wait_in_line(async::Clock& clock, async::Clock::TimePoint deadline);
  CreateMode create_mode() const;

  Store& store_;
  std::string root_;
  std::string identifier_;
  Lifetime lifetime_;
  std::string prefix_;  // "<32 hex digits>__lock__": marks our contenders even if an answer is lost
  std::string contender_;
  std::size_t contender_operation_ = 0;
  bool root_is_new_ = false;
  bool held_ = false;
};

// The sequence digits of a contender's name; empty if it is not one.
std::string_view contender_sequence(std::string_view name);

// The contenders among the children of a lock's root, first in line first.
std::vector<std::string> contenders_in_line(std::vector<std::string> children);

// Removes the holder's contender, whoever it belongs to. Returns whether there was one. Throws
// StoreError (not no_node).
Task<bool> force_unlock(Store& store, std::string root);

}  // namespace nodepool::coordination
