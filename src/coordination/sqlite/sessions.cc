#include "coordination/sqlite/sessions.h"

#include <unistd.h>

#include <algorithm>

#include "coordination/error.h"

namespace nodepool::coordination::sqlite {

Sessions::Sessions(Database& database, LiveDirectory& directory, NodeTree& tree)
    : directory_(directory),
      tree_(tree),
      insert_(database, "INSERT INTO sessions (pid, opened) VALUES (?, ?) RETURNING id"),
      find_(database, "SELECT 1 FROM sessions WHERE id = ?"),
      list_(database, "SELECT id FROM sessions ORDER BY id"),
      delete_(database, "DELETE FROM sessions WHERE id = ?") {}

SessionLock Sessions::open(std::int64_t now) {
  std::int64_t session = 0;
  {
    SqlStatement::Rows rows = insert_.query(std::int64_t{::getpid()}, now);
    rows.next();
    session = rows.integer(0);
    while (rows.next()) {
    }
  }
  // Lock before the row is visible, so that it never counts as dead.
  return directory_.hold(session);
}

bool Sessions::is_open(std::int64_t session) {
  return find_.query(session).next();
}

void Sessions::require_open(std::int64_t session, std::string_view path) {
  if (is_open(session)) return;
  throw store_error(StoreError::Kind::session_expired, path,
                    "session " + std::to_string(session) + " was declared dead");
}

void Sessions::end(std::int64_t session) {
  tree_.remove_ephemerals(session);
  delete_.execute(session);
  directory_.drop(session);
}

bool Sessions::any_dead() {
  const std::vector<std::int64_t> open = open_sessions();
  const auto is_dead = [this](std::int64_t session) { return !directory_.is_held(session); };
  const auto is_unknown = [&open](std::int64_t session) {
    return !std::ranges::binary_search(open, session);
  };
  return std::ranges::any_of(open, is_dead) ||
         std::ranges::any_of(directory_.sessions(), is_unknown);
}

std::vector<std::int64_t> Sessions::dead() {
  std::vector<std::int64_t> sessions = open_sessions();
  std::erase_if(sessions, [this](std::int64_t session) { return directory_.is_held(session); });
  return sessions;
}

void Sessions::end_dead() {
  const std::vector<std::int64_t> open = open_sessions();
  for (const std::int64_t session : dead()) end(session);
  // Files without a session, of processes that died while opening or closing one.
  for (const std::int64_t session : directory_.sessions()) {
    if (!std::ranges::binary_search(open, session)) directory_.drop(session);
  }
}

std::vector<std::int64_t> Sessions::open_sessions() {
  std::vector<std::int64_t> open;
  SqlStatement::Rows rows = list_.query();
  while (rows.next()) open.push_back(rows.integer(0));
  return open;
}

}  // namespace nodepool::coordination::sqlite
