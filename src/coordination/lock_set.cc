#include "coordination/lock_set.h"

#include <numeric>

namespace nodepool::coordination {

namespace {

using Kind = StoreError::Kind;

}  // namespace

std::size_t LockSet::add(std::string root, bool root_exists) {
  members_.push_back({std::move(root), root_exists, std::nullopt});
  return members_.size() - 1;
}

bool LockSet::held(std::size_t index) const {
  const Member& member = members_[index];
  return member.lock && member.lock->held();
}

Task<LockSet::Outcome> LockSet::try_acquire(Transaction also) {
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!held(i)) wanted.push_back(i);
  }
  std::optional<Outcome> outcome;
  std::exception_ptr failure;
  Kind kind{};
  try {
    while (!outcome) outcome = co_await contend(wanted, also);
  } catch (const StoreError& error) {
    failure = std::current_exception();
    kind = error.kind();
  }
  if (failure) {
    co_await remove_each(std::move(wanted), &Lock::abandon, kind);
    std::rethrow_exception(failure);
  }
  if (outcome->kind != Outcome::Kind::acquired) co_await release(wanted);
  co_return *outcome;
}

// One attempt. Returns nothing if a hint about a root was wrong; it has been corrected then.
Task<std::optional<LockSet::Outcome>> LockSet::contend(const std::vector<std::size_t>& wanted,
                                                       const Transaction& also) {
  Transaction transaction;
  std::vector<std::size_t> operation_owners;
  bool are_first = true;  // contenders that are created with their roots are first
  for (const std::size_t index : wanted) {
    Member& member = members_[index];
    are_first = are_first && !member.root_exists;
    member.lock.emplace(store_, random_, member.root);
    member.lock->contend_in(transaction, member.root_exists);
    operation_owners.resize(transaction.size(), index);
  }
  if (are_first) transaction.append(also);
  std::vector<OperationResult> results;
  try {
    results = co_await store_.commit(std::move(transaction));
  } catch (const TransactionError& error) {
    co_return learn_from(error, operation_owners);
  }
  also_results_.assign(results.begin() + static_cast<std::ptrdiff_t>(operation_owners.size()),
                       results.end());
  std::optional<Outcome> lost;
  for (const std::size_t index : wanted) {
    Member& member = members_[index];
    const bool holds = co_await member.lock->settle(results);
    if (!holds && !lost) lost = Outcome{Outcome::Kind::contended, index};
    member.root_exists = true;
  }
  if (lost) co_return *lost;
  if (!are_first && !also.empty()) co_return co_await commit_under_locks(wanted, also);
  co_return Outcome{Outcome::Kind::acquired};
}

Task<LockSet::Outcome> LockSet::commit_under_locks(const std::vector<std::size_t>& wanted,
                                                   const Transaction& also) {
  Transaction transaction;
  for (const std::size_t index : wanted) lock(index).check_in(transaction);
  transaction.append(also);
  try {
    const std::vector<OperationResult> results = co_await store_.commit(std::move(transaction));
    also_results_.assign(results.begin() + static_cast<std::ptrdiff_t>(wanted.size()),
                         results.end());
  } catch (const TransactionError& error) {
    if (error.index() >= wanted.size())
      throw TransactionError(error, error.index() - wanted.size());
    if (error.kind() != Kind::no_node) throw;
    co_return Outcome{Outcome::Kind::contended, wanted[error.index()]};
  }
  co_return Outcome{Outcome::Kind::acquired};
}

std::optional<LockSet::Outcome> LockSet::learn_from(
    const TransactionError& error, const std::vector<std::size_t>& operation_owners) {
  if (error.index() >= operation_owners.size()) {
    throw TransactionError(error, error.index() - operation_owners.size());
  }
  const std::size_t index = operation_owners[error.index()];
  Member& member = members_[index];
  if (error.kind() == Kind::node_exists && !member.root_exists) {
    member.root_exists = true;
    return std::nullopt;
  }
  if (error.kind() != Kind::no_node) throw error;
  if (!member.root_exists) return Outcome{Outcome::Kind::gone, index};
  member.root_exists = false;
  return std::nullopt;
}

void LockSet::release_in(Transaction& transaction, std::size_t index) const {
  if (members_[index].lock) members_[index].lock->release_in(transaction);
}

void LockSet::released(std::size_t index) {
  if (members_[index].lock) members_[index].lock->released();
}

void LockSet::released() {
  for (std::size_t i = 0; i < members_.size(); ++i) released(i);
}

Task<> LockSet::release() {
  std::vector<std::size_t> all(members_.size());
  std::iota(all.begin(), all.end(), 0);
  co_await release(std::move(all));
}

Task<> LockSet::release(std::vector<std::size_t> indexes) {
  std::erase_if(indexes, [this](std::size_t index) {
    const std::optional<Lock>& lock = members_[index].lock;
    return !lock || lock->contender().empty();
  });
  if (indexes.empty()) co_return;
  Transaction transaction;
  for (const std::size_t index : indexes) release_in(transaction, index);
  std::optional<Kind> failure;
  try {
    co_await store_.commit(std::move(transaction));
    for (const std::size_t index : indexes) released(index);
  } catch (const StoreError& error) {
    // A contender is gone already, the outcome is unknown, or the store is unreachable.
    failure = error.kind();
  }
  if (failure) co_await remove_each(std::move(indexes), &Lock::release, *failure);
}

// Removes the contenders one by one after a failure. Each operation waits for an unreachable store
// until a timeout, so after the first timeout the sweeper gets the others.
Task<> LockSet::remove_each(std::vector<std::size_t> indexes, Task<> (Lock::*remove)(),
                            Kind failure) {
  bool has_waited = failure == Kind::disconnected;
  for (const std::size_t index : indexes) {
    std::optional<Lock>& lock = members_[index].lock;
    if (!lock) continue;
    const bool is_away = store_.session_state() == SessionState::suspended;
    if (has_waited && is_away && store_.lock_sweeper() != nullptr) {
      lock->leave_to_sweeper();
    } else {
      co_await ((*lock).*remove)();
      has_waited = true;
    }
  }
}

}  // namespace nodepool::coordination
