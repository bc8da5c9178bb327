#include "coordination/known_outcome.h"

#include <optional>

#include "coordination/outage.h"

namespace nodepool::coordination {

namespace {

using Kind = StoreError::Kind;
using Operation = Transaction::Operation;

// What the record that an operation has written, or was to write, says about it.
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

Task<std::optional<Entry>> find(Store& store, std::string path) {
  try {
    co_return co_await store.get(std::move(path));
  } catch (const StoreError& error) {
    if (error.kind() != Kind::no_node) throw;
  }
  co_return std::nullopt;
}

// Whether a transaction that is refused now has happened before. A contender that was to be given
// up, and is there, tells that it has not, though somebody else may have written the same; a record
// that was written tells, unless it has been written again; after that, a contender that is gone:
// only its session removes it.
Task<bool> has_happened(Store& store, const Transaction& transaction) {
  bool given_up = false;
  for (const Operation& operation : transaction.operations()) {
    if (operation.kind != Transaction::Kind::remove) continue;
    if (co_await store.exists(operation.path)) co_return false;
    given_up = true;
  }
  for (const Operation& operation : transaction.operations()) {
    if (!names_version(operation)) continue;
    const std::optional<Entry> entry = co_await find(store, operation.path);
    const Evidence evidence = evidence_of(operation, entry);
    if (evidence != Evidence::none) co_return evidence == Evidence::happened;
  }
  co_return given_up;
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
  bool uncertain = false;  // an attempt has gone without an answer
  while (true) {
    std::optional<TransactionError> refusal;
    try {
      co_return co_await store.commit(transaction);
    } catch (const TransactionError& error) {
      if (!uncertain) throw;
      refusal = error;
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
