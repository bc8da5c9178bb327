// The database file: accepted and rejected files.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "async/task_scope.h"
#include "tests/coordination/sqlite/raw_sqlite.h"
#include "tests/coordination/sqlite/sqlite_fixture.h"
#include "tests/support/small_disk.h"

namespace nodepool::coordination::sqlite {
namespace {

using testing::HasSubstr;
using Kind = StoreError::Kind;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

class SqliteFile : public testing::Test {
 protected:
  // Expects that opening the store fails with this kind and reason.
  void expect_refused(const std::string& path, Kind kind, const std::string& advice) {
    SqliteOptions options;
    options.path = path;
    try {
      fixture_.open(options);
      ADD_FAILURE() << "not rejected: " << path;
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), kind);
      EXPECT_THAT(error.what(), HasSubstr(path));
      EXPECT_THAT(error.what(), HasSubstr(advice));
    }
  }

  void create_node(Store& store, const std::string& path) {
    fixture_.loop().run(store.create(path, "data", CreateMode::persistent));
  }
  void close(Store& store) { fixture_.loop().run(store.close()); }

  SqliteFixture fixture_;
};

TEST_F(SqliteFile, a_new_store_belongs_to_its_user_alone) {
  const auto store = fixture_.open();
  EXPECT_EQ(mode_of(fixture_.path()), 0600);
  EXPECT_EQ(mode_of(fixture_.path() + "-wal"), 0600);
  EXPECT_EQ(mode_of(fixture_.path() + "-live"), 0700);
  EXPECT_EQ(mode_of(fixture_.session_file(*store)), 0600);
}

TEST_F(SqliteFile, an_empty_file_becomes_a_store_and_keeps_its_mode) {
  write_file(fixture_.path(), "");
  std::filesystem::permissions(fixture_.path(), std::filesystem::perms{0640});
  const auto store = fixture_.open();
  create_node(*store, "/a");
  EXPECT_EQ(mode_of(fixture_.path()), 0640);
}

TEST_F(SqliteFile, records_stay_when_the_store_is_closed) {
  auto store = fixture_.open();
  create_node(*store, "/a");
  close(*store);
  store = fixture_.open();
  EXPECT_EQ(fixture_.loop().run(store->get("/a")).data, "data");
}

TEST_F(SqliteFile, several_may_create_the_store_at_the_same_time) {
  std::vector<std::unique_ptr<Store>> stores;
  async::TaskScope scope(fixture_.runtime(), [](const std::string&, const std::string& error) {
    ADD_FAILURE() << error;
  });
  auto open = [](const async::Runtime& runtime, std::string path,
                 std::vector<std::unique_ptr<Store>>& opened) -> Task<> {
    SqliteOptions options;
    options.path = std::move(path);
    Task<std::unique_ptr<Store>> opening = open_store(runtime, std::move(options));
    opened.push_back(co_await std::move(opening));
  };
  for (int i = 0; i < 8; ++i) {
    scope.spawn("open", open(fixture_.runtime(), fixture_.path(), stores));
  }
  fixture_.loop().run(scope.join());
  ASSERT_EQ(stores.size(), 8);
  create_node(*stores.front(), "/a");
  EXPECT_EQ(fixture_.loop().run(stores.back()->get("/a")).data, "data");
}

TEST_F(SqliteFile, a_missing_directory_is_named) {
  expect_refused(fixture_.path() + "/missing/store.db", Kind::storage, "its directory must exist");
}

TEST_F(SqliteFile, a_file_that_is_no_database_is_refused_and_not_touched) {
  const std::string text(8192, 'x');
  write_file(fixture_.path(), text);
  expect_refused(fixture_.path(), Kind::storage, "this is not a Nodepool store");
  EXPECT_EQ(read_file(fixture_.path()), text);
  EXPECT_FALSE(std::filesystem::exists(fixture_.path() + "-live"));
}

TEST_F(SqliteFile, a_database_of_another_program_is_refused_and_not_touched) {
  RawSqlite(fixture_.path()).run("CREATE TABLE songs (title TEXT)");
  const std::string before = read_file(fixture_.path());
  expect_refused(fixture_.path(), Kind::storage, "the database belongs to another program");
  EXPECT_EQ(read_file(fixture_.path()), before);
  EXPECT_FALSE(std::filesystem::exists(fixture_.path() + "-live"));
}

TEST_F(SqliteFile, a_store_of_a_later_version_is_refused) {
  close(*fixture_.open());
  RawSqlite(fixture_.path()).run("PRAGMA user_version = 2");
  expect_refused(fixture_.path(), Kind::storage, "has format 2");
}

TEST_F(SqliteFile, damage_is_reported_with_what_to_do) {
  auto store = fixture_.open();
  create_node(*store, "/a");
  close(*store);
  std::string content = read_file(fixture_.path());
  content.replace(4096, content.size() - 4096, content.size() - 4096, '\xff');
  write_file(fixture_.path(), content);
  expect_refused(fixture_.path(), Kind::storage, "restore it from a backup");
}

TEST_F(SqliteFile, a_read_only_file_system_is_reported) {
  test_support::SmallDisk disk("size=4m");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount";
  SqliteOptions options;
  options.path = disk / "store.db";
  close(*fixture_.open(options));
  disk.make_read_only();
  expect_refused(options.path, Kind::storage, "must be able to write");
  expect_refused(disk / "other.db", Kind::storage, "cannot create the file");
}

TEST_F(SqliteFile, a_file_locked_by_another_process_is_unreachable_until_released) {
  SqliteOptions options;
  options.path = fixture_.path();
  options.lock_deadline = std::chrono::milliseconds(20);
  const auto store = fixture_.open(options);
  RawSqlite other(fixture_.path());
  other.run("BEGIN IMMEDIATE");
  try {
    create_node(*store, "/a");
    FAIL() << "written to a locked file";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), Kind::disconnected);
    EXPECT_THAT(error.what(), HasSubstr("fuser"));
  }
  EXPECT_EQ(fixture_.loop().run(store->exists("/a")), std::nullopt);
  other.run("ROLLBACK");
  create_node(*store, "/a");
}

}  // namespace
}  // namespace nodepool::coordination::sqlite
