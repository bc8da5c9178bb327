#include "coordination/known_outcome.h"

#include <optional>

#include "coordination/outage.h"
#include "coordination/tree.h"

namespace nodepool::coordination {

namespace {

using Kind = StoreError::Kind;
using Operation = Transaction::Operation;

// Whether an operation has happened, as far as the record that it writes shows.
enum class Evidence { happened, did_not_happen, none };

bool names_version(const Operation& operation) {
  return operation.kind == Transaction::Kind::set && operation.version != kAnyVersion;
}

Evidence evidence_of(const Operation& operation, const std::optional<Entry>& entry) {
  if (!entry) return Evidence::none;
  if (entry->stat.version == operation.version) return Evidence::did_not_happen;
  if (entry->stat.version > operation.version + 1) return Evidence::none;
  return entry->data == operation.data ? Evidence::happened : Evidence::did_not_happen;
}

// Whether an earlier attempt at a transaction that is rejected now has succeeded. In this order:
// not if a contender that it removes still exists; as a written record shows, unless it has been
// written again; yes if a contender that it removes is gone, because only its session removes it.
Task<bool> has_happened(Store& store, const Transaction& transaction) {
  bool removes_contender = false;
  for (const Operation& operation : transaction.operations()) {
    if (operation.kind != Transaction::Kind::remove) continue;
    if (co_await store.exists(operation.path)) co_return false;
    removes_contender = true;
  }
  for (const Operation& operation : transaction.operations()) {
    if (!names_version(operation)) continue;
    const std::optional<Entry> entry = co_await find(store, operation.path);
    const Evidence evidence = evidence_of(operation, entry);
    if (evidence != Evidence::none) co_return evidence == Evidence::happened;
  }
  co_return removes_contender;
}

Task<std::vector<OperationResult>> results_of(Store& store, const Transaction& transaction) {
  std::vector<OperationResult> results;
  for (const Operation& operation : transaction.operations()) {
    OperationResult& result = results.emplace_back();
    if (!names_version(operation)) continue;
    result.path = operation.path;
    const std::optional<Entry> entry = co_await find(store, operation.path);
    if (evidence_of(operation, entry) == Evidence::happened) result.stat = entry->stat;
  }
  co_return results;
}

}  // namespace

Task<std::vector<OperationResult>> commit_until_known(async::Runtime runtime, Store& store,
                                                      Transaction transaction) {
  const std::int64_t session = store.session_id();
  bool uncertain = false;  // an earlier attempt may have succeeded
  while (true) {
    std::optional<TransactionError> refusal;
    try {
      co_return co_await store.commit(transaction);
    } catch (const TransactionError& error) {
      const bool is_full = error.kind() == Kind::storage;  // such as an exhausted quota
      if (!uncertain && !is_full) throw;
      if (!is_full) refusal = error;
    } catch (const StoreError& error) {
      if (!may_recover(error)) throw;
      uncertain = uncertain || error.kind() == Kind::unknown_outcome;
    }
    if (store.session_id() != session) {
      throw store_error(Kind::session_expired, transaction.operations().front().path);
    }
    try {
      if (refusal && !co_await has_happened(store, transaction)) throw TransactionError(*refusal);
      if (refusal) co_return co_await results_of(store, transaction);
    } catch (const StoreError& error) {
      if (!may_recover(error)) throw;
    }
    co_await wait_for_store(runtime, store);
  }
}

}  // namespace nodepool::coordination
