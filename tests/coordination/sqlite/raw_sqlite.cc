#include "tests/coordination/sqlite/raw_sqlite.h"

#include <sqlite3.h>

#include <stdexcept>

namespace nodepool::coordination::sqlite {

void RawSqlite::Closer::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

RawSqlite::RawSqlite(const std::string& path) {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open(path.c_str(), &connection);
  connection_.reset(connection);
  if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(connection));
  sqlite3_busy_timeout(connection, 10'000);
}

std::string RawSqlite::run(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(connection_.get()));
  }
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(statement, &sqlite3_finalize);
  const int code = sqlite3_step(statement);
  if (code == SQLITE_DONE) return {};
  if (code != SQLITE_ROW) throw std::runtime_error(sqlite3_errmsg(connection_.get()));
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  return text == nullptr ? std::string() : text;
}

}  // namespace nodepool::coordination::sqlite
