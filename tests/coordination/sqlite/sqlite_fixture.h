#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "coordination/sqlite/sqlite_store.h"
#include "tests/coordination/conformance.h"
#include "tests/coordination/sqlite/temporary_directory.h"

namespace nodepool::coordination::sqlite {

// A store in a directory of its own.
class SqliteFixture : public conformance::StoreFixture {
 public:
  std::unique_ptr<Store> open() override {
    SqliteOptions options;
    options.path = path();
    return open(options);
  }

  std::unique_ptr<Store> open(const SqliteOptions& options) {
    return loop().run(open_store(runtime(), options));
  }

  // Destroying a store drops its session's lock, like a dead process.
  void kill(std::unique_ptr<Store> store) override { store.reset(); }

  // Ends a session whose process hangs, as an operator can.
  bool expire(Store& store) override { return std::filesystem::remove(session_file(store)); }

  std::string path() const { return directory_ / "store.db"; }
  std::string session_file(const Store& store) const {
    return path() + "-live/" + std::to_string(store.session_id());
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace nodepool::coordination::sqlite
