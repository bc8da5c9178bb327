#include "coordination/sqlite/storage.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "coordination/sqlite/file_access.h"
#include "coordination/sqlite/schema.h"

namespace nodepool::coordination::sqlite {

using Access = Operation::Access;

namespace {

// Members that prepare statements need the tables.
Database& with_schema(Database& database, const SqliteOptions& options) {
  if (options.use == StoreUse::read) {
    check_schema(database);
    return database;
  }
  prepare_schema(database, options.durability);
  const FileAccess access =
      FileAccess::of_directory(std::filesystem::path(options.path).parent_path());
  for (const char* suffix : {"-wal", "-shm"}) access.apply_to(options.path + suffix);
  return database;
}

// Whether an error concerns only this operation, not the database.
bool is_refusal(const StoreError& error) {
  return error.is_rejection() || error.kind() == StoreError::Kind::session_expired;
}

}  // namespace

Storage::Storage(const SqliteOptions& options)
    : database_(options.path, options.use, options.lock_deadline),
      changes_(with_schema(database_, options)),
      tree_(database_, changes_),
      directory_(options.path + "-live"),
      sessions_(database_, directory_, tree_) {
  if (options.use == StoreUse::read) {
    tree_.hide_ephemerals(sessions_.dead());
  } else {
    directory_.restore();
  }
}

Storage::Report Storage::execute(const Batch& batch) {
  const bool writes = std::ranges::any_of(
      batch, [](const auto& operation) { return operation->access == Access::write; });
  if (writes) {
    execute_writes(batch);
  } else if (!batch.empty()) {
    execute_reads(batch);
  }
  return report();
}

void Storage::execute_writes(const Batch& batch) {
  try {
    Unit unit(database_, Unit::Access::write);
    const std::int64_t before = changes_.last();
    for (const auto& operation : batch) execute_apart(*operation);
    const bool changed = changes_.last() != before;
    if (changed) changes_.prune();
    unit.commit();
    signal_due_ = signal_due_ || changed;
    return;
  } catch (...) {
    for (const auto& operation : batch) operation->failure = std::current_exception();
  }
  // The reads may have seen changes that are rolled back now. Reading works on a full disk.
  execute_reads(batch);
}

void Storage::execute_reads(const Batch& batch) {
  Batch reads;
  std::ranges::copy_if(batch, std::back_inserter(reads),
                       [](const auto& operation) { return operation->access == Access::read; });
  try {
    const Unit unit(database_, Unit::Access::read);
    for (const auto& operation : reads) {
      operation->failure = nullptr;
      try {
        operation->work(*this);
      } catch (const StoreError&) {
        operation->failure = std::current_exception();
      }
    }
  } catch (...) {
    for (const auto& operation : reads) operation->failure = std::current_exception();
  }
}

void Storage::execute_apart(Operation& operation) {
  database_.execute("SAVEPOINT operation");
  try {
    operation.work(*this);
  } catch (const StoreError& error) {
    if (!is_refusal(error)) throw;
    operation.failure = std::current_exception();
    database_.execute("ROLLBACK TO operation");
  }
  database_.execute("RELEASE operation");
}

Storage::Report Storage::report() {
  Report report;
  if (signal_due_) signal_due_ = !directory_.signal();
  report.unsignalled = signal_due_;
  try {
    database_.require_in_place();
    report.changes = changes_.read_new();
  } catch (const StoreError& error) {
    report.unreadable = error.what();
  }
  return report;
}

}  // namespace nodepool::coordination::sqlite
