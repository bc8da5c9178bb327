#include "tests/simulation/harness/store_swap.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>
#include <string_view>

#include "coordination/path.h"
#include "coordination/sequence.h"
#include "model/paths.h"

namespace nodepool::simulation {

namespace {

using coordination::Transaction;
using coordination::memory::Tree;

constexpr const char* kFiller = "filler-";

// The number at the end of a sequential name.
std::optional<std::int64_t> sequence_of(std::string_view path) {
  if (path.size() < coordination::kSequenceDigits) return std::nullopt;
  const std::string_view digits = path.substr(path.size() - coordination::kSequenceDigits);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// Whoever looks after the store itself.
class Keeper {
 public:
  explicit Keeper(World& world)
      : world_(world),
        session_(world.server.open_session([](const std::vector<coordination::WatchEvent>&) {})) {}
  ~Keeper() { world_.server.end_session(session_); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  std::vector<coordination::OperationResult> commit(const Transaction& transaction) {
    const double now = world_.clock.wall_seconds();
    return world_.server.commit(session_, transaction, static_cast<std::int64_t>(now * 1000));
  }

  std::int64_t next_number(const std::string& parent) {
    Transaction ask;
    ask.create(coordination::join_path(parent, kFiller), "",
               coordination::CreateMode::persistent_sequential);
    const std::string path = commit(ask).front().path;
    commit(Transaction().remove(path));
    return sequence_of(path).value_or(0);
  }

 private:
  World& world_;
  std::int64_t session_;
};

void collect_paths(const Tree& tree, const std::string& parent, std::vector<std::string>& paths) {
  for (const std::string& name : tree.children(parent)) {
    const std::string path = coordination::join_path(parent, name);
    paths.push_back(path);
    collect_paths(tree, path, paths);
  }
}

}  // namespace

void Backup::collect(const Tree& tree, const std::string& parent) {
  for (const std::string& name : tree.children(parent)) {
    std::string path = coordination::join_path(parent, name);
    coordination::Entry entry = tree.get(path);
    if (entry.stat.ephemeral_owner != 0) continue;
    records_.emplace_back(path, std::move(entry.data));
    collect(tree, path);
  }
}

Backup Backup::take(World& world) {
  Backup backup;
  backup.collect(world.server.tree(), "/");
  Keeper keeper(world);
  for (const auto& [path, data] : backup.records_) {
    if (path == model::kNodesRoot || path == model::kRequestsRoot) {
      backup.numbers_[path] = keeper.next_number(path);  // most of those that had one are gone
    } else if (const auto number = sequence_of(path)) {
      std::int64_t& next = backup.numbers_[std::string(coordination::parent_path(path))];
      next = std::max(next, *number + 1);
    }
  }
  return backup;
}

void Backup::restore(World& world) const {
  std::vector<std::string> present;
  collect_paths(world.server.tree(), "/", present);
  Keeper keeper(world);
  Transaction transaction;
  for (const std::string& path : present | std::views::reverse) {
    transaction.remove(path);
  }
  for (const auto& [path, data] : records_) transaction.create(path, data);
  keeper.commit(transaction);
  for (const auto& [parent, number] : numbers_) {
    Transaction fill;
    const std::string filler = coordination::join_path(parent, kFiller);
    for (std::int64_t next = keeper.next_number(parent) + 1; next < number; ++next) {
      fill.create(filler, "").remove(filler);
    }
    if (!fill.empty()) keeper.commit(fill);
  }
}

}  // namespace nodepool::simulation
