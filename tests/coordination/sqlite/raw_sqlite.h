#pragma once

#include <memory>
#include <string>

struct sqlite3;

namespace nodepool::coordination::sqlite {

// Another program that has a store's file open.
class RawSqlite {
 public:
  explicit RawSqlite(const std::string& path);

  // Runs one statement; returns the first column of its first row, if it has one. Throws
  // std::runtime_error.
  std::string run(const std::string& sql);

 private:
  struct Closer {
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Closer> connection_;
};

}  // namespace nodepool::coordination::sqlite
