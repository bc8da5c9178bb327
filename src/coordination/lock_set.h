#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "coordination/lock.h"

namespace nodepool::coordination {

// Several locks that are taken together, in one transaction, or not at all; more can be added to
// those that are held in the same way.
class LockSet {
 public:
  LockSet(Store& store, async::Random& random) : store_(store), random_(random) {}

  // Adds a lock. `root_exists` is the caller's best knowledge; a wrong guess costs another attempt.
  // Returns its index.
  std::size_t add(std::string root, bool root_exists);

  struct Outcome {
    enum class Kind {
      acquired,
      contended,  // somebody else holds the lock `index`
      gone,       // what the lock `index` protects does not exist
    };
    Kind kind;
    std::size_t index = 0;
  };

  // Takes all locks that are not held yet; or none of them, leaving no contender of theirs behind.
  // `also` happens under these locks or not at all: in the same transaction where nobody can be
  // before the new contenders, otherwise in one of its own that is refused if a lock has been lost
  // again. If it is refused the TransactionError counts from the start of `also`. Throws
  // StoreError.
  Task<Outcome> try_acquire(Transaction also = {});

  // The results of `also`.
  const std::vector<OperationResult>& also_results() const { return also_results_; }

  // Whether the lock is held, as far as is known.
  bool held(std::size_t index) const;

  // Adds a check that the lock is still held: the transaction is refused otherwise.
  void check_in(Transaction& transaction, std::size_t index) const;

  // Adds the removal of one contender to a transaction that the caller commits; then call
  // released(), for that lock or for all.
  void release_in(Transaction& transaction, std::size_t index) const;
  void released(std::size_t index);
  void released();

  // Gives all locks up in one transaction. Harmless if none is held. Throws StoreError.
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

  Store& store_;
  async::Random& random_;
  std::vector<Member> members_;
  std::vector<OperationResult> also_results_;
};

}  // namespace nodepool::coordination
