#include "coordination/sqlite/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <thread>

#include "coordination/error.h"
#include "coordination/sqlite/file_access.h"
#include "coordination/sqlite/file_error.h"

namespace nodepool::coordination::sqlite {

using Kind = StoreError::Kind;

namespace {

std::string advice_for(int code, const std::string& path) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process holds its lock; `fuser -v " + path +
             "` lists the processes that have it open";
    case SQLITE_IOERR:
      return "check the kernel log for disk errors";
    case SQLITE_CORRUPT:
      return "restore it from a backup, or move it away to start with an empty store";
    case SQLITE_NOTADB:
      return "this is not a Nodepool store; set the path of one, or of a file that does not exist";
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return "this user must be able to write the file and its directory";
    default:
      return {};
  }
}

// Creates the file without opening it (see FileAccess), accessible for its owner only.
void create_if_missing(const std::string& path) {
  if (::mknod(path.c_str(), S_IFREG | S_IRUSR | S_IWUSR, 0) == 0 || errno == EEXIST) return;
  throw file_error(path, "create the file", errno,
                   "its directory must exist and be writable for this user");
}

void require_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return;
  const int reason = errno;
  const std::string directory = std::filesystem::path(path).parent_path();
  if (reason == ENOENT && ::stat(directory.c_str(), &status) == 0) {
    throw store_error(Kind::no_node, path,
                      "there is no store; the launcher creates it when it starts");
  }
  throw file_error(path, "open it", reason);
}

// The URI of a file with a parameter, as in SQLite's documentation of URI filenames.
std::string uri_of(const std::string& path, std::string_view parameter) {
  constexpr std::string_view kPlain = "/-_.";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    if (letter || (byte >= '0' && byte <= '9') || kPlain.contains(c)) {
      uri += c;
    } else {
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 0xf]};
    }
  }
  return uri.append("?").append(parameter);
}

// Whether SQLite could not write its index of the log, which readers need as well.
bool is_denied(int code) {
  switch (code & 0xff) {
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return true;
    default:
      return false;
  }
}

// SQLite stores NULL for a null pointer.
const char* address_of(std::string_view bytes) {
  return bytes.data() == nullptr ? "" : bytes.data();
}

}  // namespace

void Database::Closer::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

Database::Database(std::string path, StoreUse use, std::chrono::milliseconds lock_deadline)
    : path_(std::move(path)), lock_deadline_(lock_deadline) {
  if (use == StoreUse::create) {
    create_if_missing(path_);
  } else {
    require_file(path_);
  }
  if (use == StoreUse::read) {
    open_for_reading();
    return;
  }
  FileAccess::of_directory(std::filesystem::path(path_).parent_path()).apply_to(path_);
  open(path_, SQLITE_OPEN_READWRITE);
  // SQLite opens the file read-only if it cannot write.
  if (sqlite3_db_readonly(connection_.get(), "main") != 0) {
    fail(SQLITE_READONLY, "open it for writing");
  }
}

void Database::open(const std::string& name, int flags) {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &connection,
                                   flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  connection_.reset(connection);
  if (code != SQLITE_OK) fail(code, "open it");
  sqlite3_busy_handler(connection, &Database::wait_for_lock, this);
}

// Readers need SQLite's index of the log in a file next to the database. On a full disk, the file
// exists, at least since the first attempt, but is too short. If it may not be written and no
// process has the database open, SQLite reads the log into an index of its own. If there is no log
// and the index cannot be created, no process has the database open and the database file is
// complete.
void Database::open_for_reading() {
  open(path_, SQLITE_OPEN_READONLY);
  int code = try_to_read();
  if (is_denied(code)) {
    open(uri_of(path_, "readonly_shm=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    code = try_to_read();
  }
  if (code == SQLITE_OK) return;
  struct stat log{};
  const bool has_no_log = ::stat((path_ + "-wal").c_str(), &log) != 0 && errno == ENOENT;
  if (!is_denied(code) || !has_no_log) fail(code, "read it");
  open(uri_of(path_, "immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

int Database::try_to_read() {
  return sqlite3_exec(connection_.get(), "PRAGMA schema_version", nullptr, nullptr, nullptr);
}

Database::~Database() = default;

// Other processes hold the lock for one commit, about as long as a sync of the disk. SQLite's own
// handler sleeps up to 100 ms between attempts, which is much longer.
int Database::wait_for_lock(void* database, int attempt) {
  constexpr std::chrono::microseconds kShortest(100);
  constexpr int kLongestFactor = 20;
  Database& self = *static_cast<Database*>(database);
  if (attempt == 0) self.waited_ = {};
  if (self.waited_ >= self.lock_deadline_) return 0;
  const auto pause = kShortest * std::min(attempt + 1, kLongestFactor);
  std::this_thread::sleep_for(pause);
  self.waited_ += pause;
  return 1;
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, "execute " + sql);
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(connection_.get()) == 0;
}

void Database::require_in_place() const {
  int moved = 0;
  const int code = sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (code != SQLITE_OK || moved == 0) return;
  throw store_error(Kind::storage, path_,
                    "the file was removed or replaced while it was open; restart this program");
}

void Database::fail(int code, std::string_view doing) const {
  const int primary = code & 0xff;
  // The operating system's error, if it explains more.
  const bool has_reason =
      connection_ != nullptr && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN);
  const int reason = has_reason ? sqlite3_system_errno(connection_.get()) : 0;
  if (primary == SQLITE_FULL) throw file_error(path_, doing, ENOSPC);
  if (is_lack_of_space(reason)) throw file_error(path_, doing, reason);
  std::string detail = "cannot " + std::string(doing) + ": " + sqlite3_errstr(code);
  if (reason != 0) detail += " (" + std::generic_category().message(reason) + ")";
  const std::string advice = advice_for(code, path_);
  if (!advice.empty()) detail += "; " + advice;
  const bool busy = primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
  throw store_error(busy ? Kind::disconnected : Kind::storage, path_, detail);
}

void SqlStatement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqlStatement::SqlStatement(Database& database, std::string_view sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(database.connection_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) database.fail(code, "prepare " + std::string(sql));
}

void SqlStatement::bind(int index, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), index, value);
  if (code != SQLITE_OK) fail(code);
}

void SqlStatement::bind(int index, std::string_view text) {
  const int code = sqlite3_bind_text(statement_.get(), index, address_of(text),
                                     static_cast<int>(text.size()), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) fail(code);
}

void SqlStatement::bind(int index, Blob blob) {
  const int code = sqlite3_bind_blob(statement_.get(), index, address_of(blob.bytes),
                                     static_cast<int>(blob.bytes.size()), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t SqlStatement::changed_rows() const {
  return sqlite3_changes64(database_.connection_.get());
}

void SqlStatement::fail(int code) const {
  database_.fail(code, std::string("execute ") + sqlite3_sql(statement_.get()));
}

SqlStatement::Rows::~Rows() {
  sqlite3_reset(statement_.statement_.get());
}

bool SqlStatement::Rows::next() {
  const int code = sqlite3_step(statement_.statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) statement_.fail(code);
  return false;
}

std::int64_t SqlStatement::Rows::integer(int column) const {
  return sqlite3_column_int64(statement_.statement_.get(), column);
}

std::string SqlStatement::Rows::text(int column) const {
  sqlite3_stmt* const statement = statement_.statement_.get();
  // A blob may contain zeros, and an empty one is a null pointer.
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
  const int size = sqlite3_column_bytes(statement, column);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

Unit::Unit(Database& database, Access access) : database_(database) {
  database_.require_in_place();
  database_.execute(access == Access::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Unit::~Unit() {
  if (!database_.in_transaction()) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const StoreError&) {
    // SQLite has rolled back already.
  }
}

void Unit::commit() {
  database_.execute("COMMIT");
}

}  // namespace nodepool::coordination::sqlite
