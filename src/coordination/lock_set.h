#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "coordination/lock.h"

namespace nodepool::coordination {

// Takes several locks in one transaction: all or none. More locks can be added later.
class LockSet {
 public:
  LockSet(Store& store, async::Random& random) : store_(store), random_(random) {}

  // Adds a lock and returns its index. `root_exists` is a hint; a wrong one costs another attempt.
  std::size_t add(std::string root, bool root_exists);

  struct Outcome {
    enum class Kind {
      acquired,
      contended,  // another contender holds the lock `index`
      gone,       // the object that the lock `index` protects does not exist
    };
    Kind kind;
    std::size_t index = 0;
  };

  // Takes all locks that are not held yet, or none of them, and leaves no contender behind then.
  // Commits `also` only under these locks: in the same transaction if all roots are new, otherwise
  // in a second one that checks the locks. The index of a TransactionError counts from the start of
  // `also`. Throws StoreError.
  Task<Outcome> try_acquire(Transaction also = {});

  // The results of `also`.
  const std::vector<OperationResult>& also_results() const { return also_results_; }

  // Whether the lock is held, as far as is known.
  bool held(std::size_t index) const;

  // A lock that was acquired. Valid until another one is added.
  Lock& lock(std::size_t index) { return *members_[index].lock; }

  // Adds the removal of one contender to a transaction that the caller commits; then call
  // released(), for that lock or for all.
  void release_in(Transaction& transaction, std::size_t index) const;
  void released(std::size_t index);
  void released();

  // Releases all locks in one transaction. Does nothing if none is held. Throws StoreError unless
  // the store has a LockSweeper. With one, an unreachable store delays this only once.
  Task<> release();

 private:
  struct Member {
    std::string root;
    bool root_exists;
    std::optional<Lock> lock;
  };

  Task<std::optional<Outcome>> contend(const std::vector<std::size_t>& wanted,
                                       const Transaction& also);
  Task<Outcome> commit_under_locks(const std::vector<std::size_t>& wanted, const Transaction& also);
  std::optional<Outcome> learn_from(const TransactionError& error,
                                    const std::vector<std::size_t>& operation_owners);
  Task<> release(std::vector<std::size_t> indexes);
  Task<> remove_each(std::vector<std::size_t> indexes, Task<> (Lock::*remove)(),
                     StoreError::Kind failure);

  Store& store_;
  async::Random& random_;
  std::vector<Member> members_;
  std::vector<OperationResult> also_results_;
};

}  // namespace nodepool::coordination
