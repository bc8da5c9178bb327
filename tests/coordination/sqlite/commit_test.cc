// Commits and their notifications: grouping, the change log, the bell.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/sqlite/change_log.h"
#include "tests/coordination/sqlite/raw_sqlite.h"
#include "tests/coordination/sqlite/sqlite_fixture.h"

namespace nodepool::coordination::sqlite {
namespace {

using conformance::WatchLog;
using testing::ElementsAre;

// The number of commits in a write-ahead log ("WAL Format" in SQLite's documentation): the frames
// that contain the size of the database.
int count_commits(const std::string& path) {
  constexpr int kHeader = 32;
  constexpr int kFrame = 24 + 4096;
  std::ifstream file(path, std::ios::binary);
  const std::string log((std::istreambuf_iterator<char>(file)), {});
  int commits = 0;
  for (std::size_t frame = kHeader; frame + kFrame <= log.size(); frame += kFrame) {
    if (log.substr(frame + 4, 4) != std::string(4, '\0')) ++commits;
  }
  return commits;
}

class SqliteCommit : public testing::Test {
 protected:
  template <typename T>
  T run(Task<T> task) {
    return fixture_.loop().run(std::move(task));
  }
  void run(Task<> task) { fixture_.loop().run(std::move(task)); }

  void change_often(Store& store, std::int64_t times) {
    constexpr std::int64_t kAtOnce = 500;
    for (std::int64_t i = 0; i < times; i += kAtOnce) {
      Transaction transaction;
      for (std::int64_t j = 0; j < kAtOnce; ++j) transaction.set("/a", "");
      run(store.commit(std::move(transaction)));
    }
  }

  SqliteFixture fixture_;
};

TEST_F(SqliteCommit, operations_under_way_together_share_a_commit) {
  const auto store = fixture_.open();
  const int before = count_commits(fixture_.path() + "-wal");
  async::TaskScope scope(fixture_.runtime(), [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  auto create = [](Store& target, int number) -> Task<> {
    std::string path = "/" + std::to_string(number);
    co_await target.create(std::move(path), "", CreateMode::persistent);
  };
  for (int i = 0; i < 200; ++i) scope.spawn("create", create(*store, i));
  run(scope.join());
  EXPECT_EQ(run(store->children("/")).size(), 200);
  EXPECT_LE(count_commits(fixture_.path() + "-wal") - before, 3);
}

TEST_F(SqliteCommit, a_refused_operation_does_not_disturb_the_others_of_its_commit) {
  const auto store = fixture_.open();
  async::TaskScope scope(fixture_.runtime(),
                         [](const std::string&, const std::string&) { FAIL(); });
  auto change = [](Store& target, int number, int& refused) -> Task<> {
    Transaction transaction;
    transaction.create("/" + std::to_string(number), "");
    if (number % 2 == 1) transaction.check("/missing");
    try {
      co_await target.commit(std::move(transaction));
    } catch (const TransactionError&) {
      ++refused;
    }
  };
  int refused = 0;
  for (int i = 0; i < 6; ++i) scope.spawn("change", change(*store, i, refused));
  run(scope.join());
  EXPECT_EQ(refused, 3);
  EXPECT_THAT(run(store->children("/")), ElementsAre("0", "2", "4"));
}

TEST_F(SqliteCommit, a_process_that_fell_behind_resyncs) {
  async::EventLoop slow_loop;
  const async::Runtime slow{slow_loop.executor(), fixture_.runtime().clock,
                            fixture_.runtime().random};
  SqliteOptions options;
  options.path = fixture_.path();
  const auto slow_store = slow_loop.run(open_store(slow, options));
  const auto store = fixture_.open();
  run(store->create("/a", "", CreateMode::persistent));
  std::vector<WatchEvent> reported;
  async::Event heard;
  const auto watching = slow_store->watch("/", [&](const WatchEvent& event) {
    reported.push_back(event);
    heard.set();
  });
  slow_loop.run(heard.wait());
  ASSERT_EQ(reported.size(), 1);

  // Its loop does not run meanwhile, as if the process had been stopped.
  change_often(*store, 2 * ChangeLog::kLength);
  run(store->create("/b", "", CreateMode::persistent));
  slow_loop.run(heard.wait());
  ASSERT_EQ(reported.size(), 2);
  EXPECT_EQ(reported[1].kind, WatchEvent::Kind::resync);
  run(store->create("/c", "", CreateMode::persistent));
  slow_loop.run(heard.wait());
  ASSERT_EQ(reported.size(), 3);
  EXPECT_EQ(reported[2].path, "/c");
}

TEST_F(SqliteCommit, the_change_log_stays_bounded) {
  const auto store = fixture_.open();
  run(store->create("/a", "", CreateMode::persistent));
  change_often(*store, 3 * ChangeLog::kLength);
  RawSqlite raw(fixture_.path());
  const int kept = std::stoi(raw.run("SELECT count(*) FROM changes"));
  EXPECT_GE(kept, ChangeLog::kLength);
  EXPECT_LE(kept, 2 * ChangeLog::kLength);
}

TEST_F(SqliteCommit, a_removed_bell_is_replaced) {
  const auto store = fixture_.open();
  const auto other = fixture_.open();
  WatchLog log(fixture_, *other, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  run(store->create("/a", "", CreateMode::persistent));
  ASSERT_TRUE(log.run_until_last_is("created /a"));
  std::filesystem::remove(fixture_.path() + "-live/bell");
  run(store->create("/b", "", CreateMode::persistent));
  EXPECT_TRUE(log.run_until_last_is("created /b"));
}

TEST_F(SqliteCommit, a_bell_that_is_a_link_or_a_pipe_is_replaced) {
  const auto store = fixture_.open();
  const auto other = fixture_.open();
  WatchLog log(fixture_, *other, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  const std::string bell = fixture_.path() + "-live/bell";
  const std::string elsewhere = fixture_.path() + ".elsewhere";
  std::filesystem::remove(bell);
  std::filesystem::create_symlink(elsewhere, bell);
  run(store->create("/a", "", CreateMode::persistent));
  EXPECT_TRUE(log.run_until_last_is("created /a"));
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(bell)));
  std::filesystem::remove(bell);
  ASSERT_EQ(::mkfifo(bell.c_str(), 0600), 0);
  run(store->create("/b", "", CreateMode::persistent));
  EXPECT_TRUE(log.run_until_last_is("created /b"));
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(bell)));
}

TEST_F(SqliteCommit, a_store_that_cannot_be_read_is_suspended_until_it_can) {
  const auto store = fixture_.open();
  const auto other = fixture_.open();
  run(store->create("/a", "", CreateMode::persistent));
  WatchLog log(fixture_, *store, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  std::vector<SessionState> states;
  const auto listening =
      store->on_session([&states](SessionState state) { states.push_back(state); });

  // Move everything to the main file, and damage it except for its first page.
  RawSqlite raw(fixture_.path());
  raw.run("PRAGMA wal_checkpoint(TRUNCATE)");
  std::fstream file(fixture_.path(), std::ios::in | std::ios::out | std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(file)), {});
  file.clear();
  file.seekp(4096);
  file << std::string(content.size() - 4096, '\xff') << std::flush;
  std::ofstream(fixture_.path() + "-live/bell") << "";
  ASSERT_TRUE(fixture_.run_until([&states] { return !states.empty(); }));
  EXPECT_THAT(states, ElementsAre(SessionState::suspended));
  EXPECT_THROW(run(store->get("/a")), StoreError);

  log.clear();
  file.seekp(0);
  file << content << std::flush;
  raw.run("PRAGMA user_version = 1");  // a commit, which invalidates the caches of others
  ASSERT_TRUE(fixture_.run_until([&states] { return states.size() == 2; }));
  EXPECT_EQ(states[1], SessionState::connected);
  ASSERT_TRUE(log.run_until_last_is("resync"));
  run(other->create("/b", "", CreateMode::persistent));
  EXPECT_TRUE(log.run_until_last_is("created /b"));
}

}  // namespace
}  // namespace nodepool::coordination::sqlite
