#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "coordination/lock.h"

namespace nodepool::coordination {

// Several locks that are taken together, in one transaction, or not at all.
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

  // Takes all locks, or leaves no contender behind. Throws StoreError.
  Task<Outcome> try_acquire();

  // Adds the check that one contender is still there to a transaction, while the locks are held.
  void check_in(Transaction& transaction, std::size_t index) const;

  // Adds the removal of one contender to a transaction that the caller commits; then call
  // released().
  void release_in(Transaction& transaction, std::size_t index) const;
  void released();

  // Gives all locks up in one transaction. Harmless if none is held. Throws StoreError.
  Task<> release();

 private:
  struct Member {
    std::string root;
    bool root_exists;
    std::optional<Lock> lock;
  };

  Task<std::optional<Outcome>> contend();
  std::optional<Outcome> learn_from(const TransactionError& error,
                                    const std::vector<std::size_t>& operation_owners);

  Store& store_;
  async::Random& random_;
  std::vector<Member> members_;
};

}  // namespace nodepool::coordination
