#include "coordination/tree_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "coordination/path.h"
#include "coordination/sequence.h"
#include "coordination/tree.h"

namespace nodepool::coordination {

namespace {

// Per transaction; well below a store's limit (kMaximumDataSize).
constexpr std::size_t kMostOperations = 500;
constexpr std::size_t kMostBytes = 200'000;

bool has_sequence(std::string_view name) {
  if (name.size() < kSequenceDigits) return false;
  const std::string_view digits = name.substr(name.size() - kSequenceDigits);
  return std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

// Collects creations and commits them in batches.
class Writer {
 public:
  explicit Writer(Store& store) : store_(store) {}

  Task<> create(std::string path, std::string data) {
    const std::size_t size = path.size() + data.size();
    if (bytes_ + size > kMostBytes || transaction_.size() >= kMostOperations) co_await flush();
    bytes_ += size;
    transaction_.create(std::move(path), std::move(data));
  }

  Task<> flush() {
    bytes_ = 0;
    Transaction transaction = std::exchange(transaction_, {});
    co_await store_.commit(std::move(transaction));
  }

 private:
  Store& store_;
  Transaction transaction_;
  std::size_t bytes_ = 0;
};

class TreeCopy {
 public:
  TreeCopy(Store& from, Store& to, PathPredicate skip, PathPredicate numbered)
      : from_(from), to_(to), skip_(std::move(skip)), numbered_(std::move(numbered)), writer_(to) {}

  Task<std::size_t> run(std::string root) {
    const Entry entry = co_await from_.get(root);
    if (root != "/") co_await ensure_path(to_, root);
    co_await to_.set(root, entry.data, kAnyVersion);
    ++count_;
    co_await copy_children(root);
    co_await writer_.flush();
    for (const std::string& parent : parents_with_numbers_) {
      const std::int64_t number = co_await next_sequence(from_, parent);
      co_await advance_sequence(to_, parent, number);
    }
    co_return count_;
  }

 private:
  Task<> copy_children(std::string parent) {
    const std::vector<std::string> names = co_await from_.children(parent);
    if (numbered_(parent) || std::ranges::any_of(names, has_sequence)) {
      parents_with_numbers_.push_back(parent);
    }
    for (const std::string& name : names) {
      std::string path = join_path(parent, name);
      if (skip_(path)) continue;
      Entry entry = co_await from_.get(path);
      if (entry.stat.ephemeral_owner != 0) continue;
      co_await writer_.create(path, std::move(entry.data));
      ++count_;
      if (entry.stat.num_children > 0 || numbered_(path)) co_await copy_children(std::move(path));
    }
  }

  Store& from_;
  Store& to_;
  PathPredicate skip_;
  PathPredicate numbered_;
  Writer writer_;
  std::vector<std::string> parents_with_numbers_;
  std::size_t count_ = 0;
};

}  // namespace

Task<std::optional<std::string>> find_ephemeral(Store& store, std::string root) {
  const std::optional<Stat> stat = co_await store.exists(root);
  if (!stat) co_return std::nullopt;
  if (stat->ephemeral_owner != 0) co_return root;
  if (stat->num_children == 0) co_return std::nullopt;
  const std::vector<std::string> names = co_await store.children(root);
  for (const std::string& name : names) {
    std::optional<std::string> found = co_await find_ephemeral(store, join_path(root, name));
    if (found) co_return found;
  }
  co_return std::nullopt;
}

Task<std::size_t> copy_tree(Store& from, Store& to, std::string root, PathPredicate skip,
                            PathPredicate numbered) {
  TreeCopy copy(from, to, std::move(skip), std::move(numbered));
  co_return co_await copy.run(std::move(root));
}

}  // namespace nodepool::coordination
