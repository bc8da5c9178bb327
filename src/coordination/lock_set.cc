#include "coordination/lock_set.h"

namespace nodepool::coordination {

namespace {

using Kind = StoreError::Kind;

}  // namespace

std::size_t LockSet::add(std::string root, bool root_exists) {
  members_.push_back({std::move(root), root_exists, std::nullopt});
  return members_.size() - 1;
}

Task<LockSet::Outcome> LockSet::try_acquire() {
  std::optional<Outcome> outcome;
  std::exception_ptr failure;
  try {
    while (!outcome) outcome = co_await contend();
  } catch (const StoreError&) {
    failure = std::current_exception();
  }
  if (failure) {
    for (Member& member : members_) {
      if (member.lock) co_await member.lock->abandon();
    }
    std::rethrow_exception(failure);
  }
  if (outcome->kind != Outcome::Kind::acquired) co_await release();
  co_return *outcome;
}

// One attempt: an outcome, or nothing if a guess about a root was wrong and has been corrected.
Task<std::optional<LockSet::Outcome>> LockSet::contend() {
  Transaction transaction;
  std::vector<std::size_t> operation_owners;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    member.lock.emplace(store_, random_, member.root);
    member.lock->contend_in(transaction, member.root_exists);
    operation_owners.resize(transaction.size(), i);
  }
  std::vector<OperationResult> results;
  try {
    results = co_await store_.commit(std::move(transaction));
  } catch (const TransactionError& error) {
    co_return learn_from(error, operation_owners);
  }
  std::optional<Outcome> lost;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    const bool holds = co_await member.lock->settle(results);
    if (!holds && !lost) lost = Outcome{Outcome::Kind::contended, i};
    member.root_exists = true;
  }
  co_return lost ? *lost : Outcome{Outcome::Kind::acquired};
}

std::optional<LockSet::Outcome> LockSet::learn_from(
    const TransactionError& error, const std::vector<std::size_t>& operation_owners) {
  const std::size_t index = operation_owners.at(error.index());
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

void LockSet::check_in(Transaction& transaction, std::size_t index) const {
  members_[index].lock->check_in(transaction);
}

void LockSet::release_in(Transaction& transaction, std::size_t index) const {
  if (members_[index].lock) members_[index].lock->release_in(transaction);
}

void LockSet::released() {
  for (Member& member : members_) {
    if (member.lock) member.lock->released();
  }
}

Task<> LockSet::release() {
  Transaction transaction;
  for (std::size_t i = 0; i < members_.size(); ++i) release_in(transaction, i);
  if (transaction.empty()) co_return;
  bool one_by_one = false;
  try {
    co_await store_.commit(std::move(transaction));
    released();
  } catch (const StoreError&) {
    // Some contender is gone already, or nobody knows, or the store is out of reach.
    one_by_one = true;
  }
  if (!one_by_one) co_return;
  for (Member& member : members_) {
    if (member.lock) co_await member.lock->release();
  }
}

}  // namespace nodepool::coordination
