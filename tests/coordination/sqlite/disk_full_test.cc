// A full disk: nothing is lost or half done, and the store recovers.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "async/task_scope.h"
#include "coordination/sqlite/free_space.h"
#include "tests/coordination/sqlite/raw_sqlite.h"
#include "tests/coordination/sqlite/sqlite_fixture.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/small_disk.h"

namespace nodepool::coordination::sqlite {
namespace {

using Kind = StoreError::Kind;
using testing::HasSubstr;

class DiskFull : public testing::Test {
 protected:
  template <typename T>
  T run(Task<T> task) {
    return fixture_.loop().run(std::move(task));
  }
  void run(Task<> task) { fixture_.loop().run(std::move(task)); }

  // Creates nodes until the disk is full. Returns the number of created nodes.
  int fill(Store& store) {
    for (int i = 0;; ++i) {
      try {
        run(store.create("/" + std::to_string(i), std::string(20'000, 'x'),
                         CreateMode::persistent));
      } catch (const StoreError& error) {
        EXPECT_EQ(error.kind(), Kind::no_space) << error.what();
        return i;
      }
    }
  }

  // Why the store cannot be opened.
  std::string refusal(const SqliteOptions& options) {
    try {
      fixture_.open(options);
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), Kind::no_space) << error.what();
      return error.what();
    }
    return "opened";
  }

  // Expects exactly the nodes /0 … /<count - 1>, complete.
  void expect_nodes(Store& store, int count) {
    EXPECT_EQ(run(store.children("/")).size(), count);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(run(store.get("/" + std::to_string(i))).data, std::string(20'000, 'x'));
    }
  }

  SqliteFixture fixture_;
};

TEST_F(DiskFull, a_full_disk_refuses_writes_until_there_is_space) {
  const test_support::SmallDisk disk("size=3m");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount";
  std::ofstream(disk / "ballast") << std::string(1'000'000, 'x');
  SqliteOptions options;
  options.path = disk / "store.db";
  auto store = fixture_.open(options);
  auto other = fixture_.open(options);
  conformance::WatchLog log(fixture_, *other, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));

  const int count = fill(*store);
  ASSERT_GT(count, 10);
  expect_nodes(*store, count);
  expect_nodes(*other, count);
  EXPECT_EQ(store->session_state(), SessionState::connected);

  std::filesystem::remove(disk / "ballast");
  run(store->create("/after", "", CreateMode::ephemeral));
  ASSERT_TRUE(log.run_until_last_is("created /after"));
  EXPECT_EQ(log.lines().size(), 1 + count + 1);
  run(store->close());
  expect_nodes(*other, count);
  run(other->close());
  EXPECT_EQ(RawSqlite(options.path).run("PRAGMA integrity_check"), "ok");
}

TEST_F(DiskFull, the_nodes_of_a_dead_session_vanish_when_there_is_space) {
  const test_support::SmallDisk disk("size=3m");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount";
  std::ofstream(disk / "ballast") << std::string(1'000'000, 'x');
  SqliteOptions options;
  options.path = disk / "store.db";
  auto store = fixture_.open(options);
  auto dying = fixture_.open(options);
  run(dying->create("/ephemeral", "", CreateMode::ephemeral));
  conformance::WatchLog log(fixture_, *store, "/ephemeral");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  // Large writes fail before the last bytes of the disk are used.
  fill(*store);
  std::ofstream(disk / "more ballast") << std::string(3'000'000, 'x');
  dying.reset();
  try {
    while (true) run(store->set("/0", "", kAnyVersion));
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), Kind::no_space) << error.what();
  }
  std::filesystem::remove(disk / "ballast");
  EXPECT_TRUE(log.run_until_last_is("removed /ephemeral"));
}

TEST_F(DiskFull, opening_for_writing_fails_until_there_is_space) {
  test_support::SmallDisk disk("size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount";
  SqliteOptions options;
  options.path = disk / "store.db";
  run(fixture_.open(options)->close());
  disk.fill();
  EXPECT_THAT(refusal(options), HasSubstr("No space left on device; free space"));
  options.path = disk / "other.db";
  EXPECT_THAT(refusal(options), HasSubstr("free space"));
  std::filesystem::remove(disk / "ballast");
  run(fixture_.open(options)->close());
}

TEST_F(DiskFull, reading_needs_no_space_whether_or_not_there_is_a_log) {
  for (const bool has_log : {false, true}) {
    test_support::SmallDisk disk("size=1m");
    if (!disk.mounted()) GTEST_SKIP() << "this process may not mount";
    SqliteOptions options;
    options.path = disk / "store.db";
    {
      const auto store = fixture_.open(options);
      run(store->create("/a", "1", CreateMode::persistent));
      // What a process that is killed leaves.
      for (const char* suffix : {"", "-wal"}) {
        if (has_log) std::filesystem::copy(options.path + suffix, disk / "killed.db" + suffix);
      }
      run(store->close());
    }
    if (has_log) options.path = disk / "killed.db";
    disk.fill();
    options.use = StoreUse::read;
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto reader = fixture_.open(options);
      EXPECT_EQ(run(reader->get("/a")).data, "1");
      run(reader->close());
    }
  }
}

TEST_F(DiskFull, little_space_is_a_problem) {
  const test_support::SmallDisk disk("size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount";
  std::ofstream(disk / "store.db") << "x";
  EXPECT_THAT(space_problem(disk / "store.db"), HasSubstr("less than 16 MiB are free"));
  EXPECT_EQ(space_problem(disk / "missing.db"), "");
}

TEST_F(DiskFull, a_failed_commit_fails_all_its_writes_and_leaves_nothing) {
  const auto store = fixture_.open();
  run(store->create("/a", "old", CreateMode::persistent));
  async::TaskScope scope(fixture_.runtime(), [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  auto write = [](Store& target, std::string path, std::vector<Kind>& kinds) -> Task<> {
    try {
      std::string data(10'000, 'x');
      co_await target.create(std::move(path), std::move(data), CreateMode::persistent);
    } catch (const StoreError& error) {
      kinds.push_back(error.kind());
    }
  };
  auto read = [](Store& target, std::string& data) -> Task<> {
    const Entry entry = co_await target.get("/a");
    data = entry.data;
  };
  std::vector<Kind> kinds;
  std::string read_between;
  {
    const test_support::FileSizeLimit limit(std::filesystem::file_size(fixture_.path() + "-wal") +
                                            4'000);
    for (int i = 0; i < 10; ++i) {
      scope.spawn("write", write(*store, "/new" + std::to_string(i), kinds));
    }
    // Rejected even if the others had succeeded.
    scope.spawn("write", write(*store, "/new0", kinds));
    scope.spawn("read", read(*store, read_between));
    run(scope.join());
  }
  EXPECT_THAT(kinds, testing::ElementsAreArray(std::vector<Kind>(11, Kind::storage)));
  EXPECT_EQ(read_between, "old");
  EXPECT_THAT(run(store->children("/")), testing::ElementsAre("a"));
  run(store->create("/b", "", CreateMode::persistent));
  EXPECT_THAT(run(store->children("/")), testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace nodepool::coordination::sqlite
