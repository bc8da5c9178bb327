#include "coordination/sqlite/schema.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "coordination/error.h"

namespace nodepool::coordination::sqlite {

namespace {

constexpr std::int64_t kApplicationId = 0x4e506f6f;  // "NPoo", where `file` finds it
constexpr std::int64_t kSchemaVersion = 1;

// A node's key is its parent's path and its own name, so that one index finds nodes and lists
// children in order. The root has no parent: ('', '').
//
// The newest row of `changes` is never deleted: transaction ids are counted from it.
constexpr const char* kSchema = R"sql(
  CREATE TABLE nodes (
    parent           TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    data             BLOB    NOT NULL,
    czxid            INTEGER NOT NULL,
    mzxid            INTEGER NOT NULL,
    ctime            INTEGER NOT NULL,            -- milliseconds since the epoch
    mtime            INTEGER NOT NULL,
    version          INTEGER NOT NULL DEFAULT 0,
    ephemeral_owner  INTEGER NOT NULL DEFAULT 0,  -- a session, 0 for a persistent node
    num_children     INTEGER NOT NULL DEFAULT 0,
    children_created INTEGER NOT NULL DEFAULT 0,  -- never decreases: the next sequence number
    PRIMARY KEY (parent, name)
  );
  CREATE INDEX ephemerals ON nodes (ephemeral_owner) WHERE ephemeral_owner <> 0;

  CREATE TABLE changes (
    seq  INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    path TEXT    NOT NULL
  );

  CREATE TABLE sessions (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    pid    INTEGER NOT NULL,  -- of the process, for diagnosis
    opened INTEGER NOT NULL   -- milliseconds since the epoch
  );

  INSERT INTO nodes (parent, name, data, czxid, mzxid, ctime, mtime)
    VALUES ('', '', x'', 0, 0, 0, 0);
)sql";

std::int64_t integer_of(Database& database, std::string_view sql) {
  SqlStatement statement(database, sql);
  SqlStatement::Rows rows = statement.query();
  return rows.next() ? rows.integer(0) : 0;
}

[[noreturn]] void refuse(const Database& database, const std::string& why) {
  throw store_error(StoreError::Kind::storage, database.path(), why);
}

// Whether the file is an empty database. Throws unless it is empty or a store of this format. Call
// in a transaction, because another process may be creating the tables.
bool is_empty(Database& database) {
  const std::int64_t application = integer_of(database, "PRAGMA application_id");
  if (application == 0 && integer_of(database, "SELECT count(*) FROM sqlite_schema") == 0) {
    return true;
  }
  if (application != kApplicationId) {
    refuse(database,
           "the database belongs to another program; set the path of a Nodepool store, or of a "
           "file that does not exist");
  }
  const std::int64_t version = integer_of(database, "PRAGMA user_version");
  if (version != kSchemaVersion) {
    refuse(database, "the store has format " + std::to_string(version) +
                         ", but this version of Nodepool supports format " +
                         std::to_string(kSchemaVersion) +
                         "; use the version that wrote it, or move the file away to start with an "
                         "empty store");
  }
  return false;
}

// Two processes that do this concurrently to a new file conflict, and SQLite does not wait for the
// lock here.
void use_write_ahead_log(Database& database) {
  constexpr std::chrono::milliseconds kPause(1);
  SqlStatement statement(database, "PRAGMA journal_mode = WAL");
  for (std::chrono::milliseconds waited{};; waited += kPause) {
    try {
      SqlStatement::Rows rows = statement.query();
      if (rows.next() && rows.text(0) == "wal") return;
      refuse(database,
             "its file system does not support shared memory, which SQLite's write-ahead log "
             "requires; put the store on a local disk");
    } catch (const StoreError& error) {
      if (error.kind() != StoreError::Kind::disconnected || waited >= database.lock_deadline()) {
        throw;
      }
    }
    std::this_thread::sleep_for(kPause);
  }
}

void create_tables(Database& database) {
  Unit unit(database, Unit::Access::write);
  if (!is_empty(database)) return;  // another process was faster
  database.execute(kSchema);
  database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  unit.commit();
}

}  // namespace

void prepare_schema(Database& database, Durability durability) {
  bool empty = false;
  {
    // Check before any write: the file may belong to another program.
    const Unit unit(database, Unit::Access::read);
    empty = is_empty(database);
  }
  use_write_ahead_log(database);
  database.execute(durability == Durability::full ? "PRAGMA synchronous = FULL"
                                                  : "PRAGMA synchronous = NORMAL");
  // Undo information of rejected operations is short-lived, so keep it in memory.
  database.execute("PRAGMA temp_store = MEMORY");
  if (empty) create_tables(database);
}

void check_schema(Database& database) {
  const Unit unit(database, Unit::Access::read);
  if (!is_empty(database)) return;
  throw store_error(StoreError::Kind::no_node, database.path(),
                    "the file is empty: no launcher has used it yet");
}

}  // namespace nodepool::coordination::sqlite
