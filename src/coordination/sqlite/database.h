#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "coordination/store_use.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nodepool::coordination::sqlite {

// A connection to one SQLite file, for one thread at a time. All functions of this file throw
// StoreError: `disconnected` if another process holds the lock past the deadline, `no_space` if the
// disk is full, otherwise `storage`.
class Database {
 public:
  // Opens `path`, which must exist unless `use` is `create`. `lock_deadline` is how long a
  // statement waits for other processes.
  Database(std::string path, StoreUse use, std::chrono::milliseconds lock_deadline);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& path() const { return path_; }
  std::chrono::milliseconds lock_deadline() const { return lock_deadline_; }

  // Runs SQL without parameters and ignores results.
  void execute(const std::string& sql);

  // Whether a transaction is open. SQLite itself rolls back after some failures.
  bool in_transaction() const;

  // Throws if the file has been removed or replaced since it was opened: this connection would read
  // and write a file that no other process can open. Costs one stat().
  void require_in_place() const;

  // Throws the StoreError for an SQLite result code; `doing` completes "cannot …".
  [[noreturn]] void fail(int code, std::string_view doing) const;

 private:
  friend class SqlStatement;

  struct Closer {
    void operator()(sqlite3* connection) const;
  };

  void open(const std::string& name, int flags);
  void open_for_reading();
  int try_to_read();

  static int wait_for_lock(void* database, int attempt);

  std::string path_;
  std::chrono::milliseconds lock_deadline_;
  std::chrono::microseconds waited_{};  // for the current lock
  std::unique_ptr<sqlite3, Closer> connection_;
};

// Stored as a blob; a std::string_view is stored as text.
struct Blob {
  std::string_view bytes;
};

// A prepared SQL statement.
class SqlStatement {
 public:
  // The rows of one run. A statement has one run at a time.
  class Rows {
   public:
    explicit Rows(SqlStatement& statement) : statement_(statement) {}
    ~Rows();
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    // Advances to the next row, initially to the first. Returns false if there is none.
    bool next();

    // The columns of the current row, from 0. Text and blobs are both strings.
    std::int64_t integer(int column) const;
    std::string text(int column) const;

   private:
    SqlStatement& statement_;
  };

  SqlStatement(Database& database, std::string_view sql);

  // Starts a run with these parameters. The statement must outlive the rows.
  template <typename... Values>
  Rows query(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    return Rows(*this);
  }

  // Runs the statement to its end. Returns the number of rows it inserted, changed or deleted.
  template <typename... Values>
  std::int64_t execute(const Values&... values) {
    Rows rows = query(values...);
    rows.next();
    return changed_rows();
  }

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };

  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view text);
  void bind(int index, Blob blob);
  std::int64_t changed_rows() const;
  [[noreturn]] void fail(int code) const;

  Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

// A database transaction, rolled back unless it is committed. Does not start unless the file is in
// place (see Database).
class Unit {
 public:
  enum class Access {
    read,   // all reads see the same state
    write,  // takes the write lock at the start, so that it cannot fail midway
  };

  Unit(Database& database, Access access);
  ~Unit();
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  void commit();

 private:
  Database& database_;
};

}  // namespace nodepool::coordination::sqlite
