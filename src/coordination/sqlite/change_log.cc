#include "coordination/sqlite/change_log.h"

namespace nodepool::coordination::sqlite {

namespace {

// Pruning writes additional pages, so it is not part of every commit.
constexpr std::int64_t kPruneAtOnce = ChangeLog::kLength / 10;

// The numbers are part of the file format.
static_assert(static_cast<int>(WatchEvent::Kind::created) == 0);
static_assert(static_cast<int>(WatchEvent::Kind::changed) == 1);
static_assert(static_cast<int>(WatchEvent::Kind::removed) == 2);

std::int64_t number_from(SqlStatement& statement) {
  SqlStatement::Rows rows = statement.query();
  rows.next();
  return rows.integer(0);
}

}  // namespace

ChangeLog::ChangeLog(Database& database)
    : last_(database, "SELECT max(seq) FROM changes"),
      first_(database, "SELECT min(seq) FROM changes"),
      append_(database, "INSERT INTO changes (kind, path) VALUES (?, ?)"),
      prune_(database, "DELETE FROM changes WHERE seq <= ?"),
      read_(database, "SELECT seq, kind, path FROM changes WHERE seq > ? ORDER BY seq"),
      seen_(last()) {}

std::int64_t ChangeLog::last() {
  return number_from(last_);
}

void ChangeLog::append(WatchEvent::Kind kind, std::string_view path) {
  append_.execute(static_cast<std::int64_t>(kind), path);
}

void ChangeLog::prune() {
  const std::int64_t newest = last();
  if (newest - number_from(first_) < kLength + kPruneAtOnce) return;
  prune_.execute(newest - kLength);
}

std::vector<WatchEvent> ChangeLog::read_new() {
  std::vector<WatchEvent> events;
  std::int64_t seen = seen_;
  bool gap = false;
  SqlStatement::Rows rows = read_.query(seen_);
  while (rows.next()) {
    gap = gap || rows.integer(0) != seen + 1;
    seen = rows.integer(0);
    if (!gap) events.push_back({static_cast<WatchEvent::Kind>(rows.integer(1)), rows.text(2)});
  }
  seen_ = seen;
  if (gap) events.assign(1, {WatchEvent::Kind::resync, {}});
  return events;
}

}  // namespace nodepool::coordination::sqlite
