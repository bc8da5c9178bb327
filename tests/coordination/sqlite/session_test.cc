// Sessions: how several processes handle a dead one.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "tests/coordination/sqlite/raw_sqlite.h"
#include "tests/coordination/sqlite/sqlite_fixture.h"

namespace nodepool::coordination::sqlite {
namespace {

using conformance::WatchLog;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = StoreError::Kind;

class SqliteSession : public testing::Test {
 protected:
  template <typename T>
  T run(Task<T> task) {
    return fixture_.loop().run(std::move(task));
  }
  void run(Task<> task) { fixture_.loop().run(std::move(task)); }

  Subscription collect(Store& store, std::vector<SessionState>& states) {
    return store.on_session([&states](SessionState state) { states.push_back(state); });
  }

  bool run_until_connected_again(const std::vector<SessionState>& states) {
    return fixture_.run_until(
        [&states] { return !states.empty() && states.back() == SessionState::connected; });
  }

  SqliteFixture fixture_;
};

TEST_F(SqliteSession, ephemeral_records_of_a_dead_process_vanish_at_the_next_start) {
  auto dying = fixture_.open();
  run(dying->create("/a", "", CreateMode::ephemeral));
  const std::string file = fixture_.session_file(*dying);
  dying.reset();
  EXPECT_TRUE(std::filesystem::exists(file));
  const auto later = fixture_.open();
  EXPECT_EQ(run(later->exists("/a")), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(SqliteSession, several_survivors_report_a_death_once) {
  std::vector<std::unique_ptr<Store>> survivors;
  std::vector<std::unique_ptr<WatchLog>> logs;
  for (int i = 0; i < 4; ++i) {
    survivors.push_back(fixture_.open());
    logs.push_back(std::make_unique<WatchLog>(fixture_, *survivors.back(), "/"));
    ASSERT_TRUE(logs.back()->run_until_last_is("resync"));
  }
  auto dying = fixture_.open();
  run(dying->create("/a", "", CreateMode::ephemeral));
  dying.reset();
  for (const auto& log : logs) ASSERT_TRUE(log->run_until_last_is("removed /a"));
  run(survivors[0]->create("/b", "", CreateMode::persistent));
  for (const auto& log : logs) {
    ASSERT_TRUE(log->run_until_last_is("created /b"));
    EXPECT_THAT(log->lines(), ElementsAre("resync", "created /a", "removed /a", "created /b"));
  }
}

TEST_F(SqliteSession, a_process_that_was_declared_dead_writes_nothing) {
  const auto store = fixture_.open();
  std::vector<SessionState> states;
  const auto listening = collect(*store, states);
  const std::int64_t old_session = store->session_id();
  RawSqlite(fixture_.path()).run("DELETE FROM sessions");
  try {
    run(store->create("/a", "", CreateMode::ephemeral));
    ADD_FAILURE() << "written as a dead session";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), Kind::session_expired);
  }
  EXPECT_EQ(run(store->exists("/a")), std::nullopt);
  ASSERT_TRUE(run_until_connected_again(states));
  EXPECT_THAT(states, ElementsAre(SessionState::expired, SessionState::connected));
  EXPECT_NE(store->session_id(), old_session);
  run(store->create("/a", "", CreateMode::ephemeral));
  EXPECT_EQ(run(store->get("/a")).stat.ephemeral_owner, store->session_id());
}

TEST_F(SqliteSession, a_store_can_be_closed_while_its_session_is_replaced) {
  const auto other = fixture_.open();
  const auto store = fixture_.open();
  std::vector<SessionState> states;
  async::Event changed;
  const auto listening = store->on_session([&states, &changed](SessionState state) {
    states.push_back(state);
    changed.set();
  });
  ASSERT_TRUE(fixture_.expire(*store));
  auto close_after = [](async::Event& event, Store& target) -> Task<> {
    co_await event.wait();
    co_await target.close();
  };
  run(close_after(changed, *store));
  EXPECT_THAT(states, ElementsAre(SessionState::expired, SessionState::closed));
  EXPECT_EQ(store->session_state(), SessionState::closed);
  RawSqlite raw(fixture_.path());
  EXPECT_TRUE(
      fixture_.run_until([&raw] { return raw.run("SELECT count(*) FROM sessions") == "1"; }));
}

TEST_F(SqliteSession, losing_the_session_directory_ends_all_sessions_but_no_store) {
  const auto one = fixture_.open();
  const auto two = fixture_.open();
  std::vector<SessionState> states_of_one;
  std::vector<SessionState> states_of_two;
  const auto listening_to_one = collect(*one, states_of_one);
  const auto listening_to_two = collect(*two, states_of_two);
  run(one->create("/a", "", CreateMode::ephemeral));
  std::filesystem::remove_all(fixture_.path() + "-live");
  ASSERT_TRUE(run_until_connected_again(states_of_one));
  ASSERT_TRUE(run_until_connected_again(states_of_two));
  EXPECT_EQ(run(two->exists("/a")), std::nullopt);
  // Both still get notifications of changes and deaths.
  WatchLog log(fixture_, *one, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  run(two->create("/b", "", CreateMode::persistent));
  EXPECT_TRUE(log.run_until_last_is("created /b"));
  auto dying = fixture_.open();
  run(dying->create("/c", "", CreateMode::ephemeral));
  dying.reset();
  EXPECT_TRUE(log.run_until_last_is("removed /c"));
}

TEST_F(SqliteSession, a_symbolic_link_to_the_file_leads_to_the_same_sessions) {
  const auto store = fixture_.open();
  run(store->create("/a", "", CreateMode::ephemeral));
  const TemporaryDirectory elsewhere;
  SqliteOptions options;
  options.path = elsewhere / "link.db";
  std::filesystem::create_symlink(fixture_.path(), options.path);
  const auto linked = fixture_.open(options);
  EXPECT_NE(run(linked->exists("/a")), std::nullopt);
  EXPECT_TRUE(std::filesystem::exists(fixture_.session_file(*linked)));
  run(linked->create("/b", "", CreateMode::ephemeral));
  const auto third = fixture_.open();
  EXPECT_NE(run(third->exists("/a")), std::nullopt);
  EXPECT_NE(run(third->exists("/b")), std::nullopt);
}

TEST_F(SqliteSession, sessions_that_are_ended_in_a_loop_are_opened_once_a_second) {
  async::VirtualClock clock;
  const async::Runtime runtime{fixture_.loop().executor(), clock, fixture_.runtime().random};
  SqliteOptions options;
  options.path = fixture_.path();
  const auto store = run(open_store(runtime, options));
  std::vector<SessionState> states;
  const auto listening = collect(*store, states);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(fixture_.expire(*store));
    ASSERT_TRUE(run_until_connected_again(states));
    states.clear();
  }
  ASSERT_TRUE(fixture_.expire(*store));
  ASSERT_TRUE(fixture_.run_until([&states] { return !states.empty(); }));
  run(store->exists("/"));  // a session without a pause would be open before this returns
  run(store->exists("/"));
  EXPECT_THAT(states, ElementsAre(SessionState::expired));
  EXPECT_THAT(store->problem(), HasSubstr("ended by another process"));
  clock.advance_by(std::chrono::seconds(1));
  EXPECT_TRUE(run_until_connected_again(states));
  run(store->close());
}

TEST_F(SqliteSession, a_store_whose_file_was_replaced_ends_no_session_of_the_new_file) {
  const auto old = fixture_.open();
  std::vector<SessionState> states_of_old;
  const auto listening_to_old = collect(*old, states_of_old);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(fixture_.path() + suffix);
  }
  const auto current = fixture_.open();
  std::vector<SessionState> states_of_current;
  const auto listening_to_current = collect(*current, states_of_current);
  ASSERT_EQ(current->session_id(), old->session_id());
  ASSERT_TRUE(fixture_.run_until([&states_of_old] { return !states_of_old.empty(); }));
  EXPECT_THAT(states_of_old, ElementsAre(SessionState::suspended));
  try {
    run(old->close());
    ADD_FAILURE() << "written to a file that was removed";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), Kind::storage);
    EXPECT_THAT(error.what(), HasSubstr("removed or replaced"));
  }
  EXPECT_TRUE(std::filesystem::exists(fixture_.session_file(*current)));
  run(current->create("/a", "", CreateMode::ephemeral));
  EXPECT_THAT(states_of_current, IsEmpty());
}

TEST_F(SqliteSession, a_store_is_suspended_until_its_file_is_in_place_again) {
  const auto store = fixture_.open();
  std::vector<SessionState> states;
  const auto listening = collect(*store, states);
  const std::string elsewhere = fixture_.path() + ".old";
  std::filesystem::rename(fixture_.path(), elsewhere);
  EXPECT_THROW(run(store->exists("/")), StoreError);
  EXPECT_THROW(run(store->create("/a", "", CreateMode::persistent)), StoreError);
  EXPECT_THAT(states, ElementsAre(SessionState::suspended));
  EXPECT_THAT(store->problem(), HasSubstr("removed or replaced"));
  std::filesystem::rename(elsewhere, fixture_.path());
  ASSERT_TRUE(run_until_connected_again(states));
  run(store->create("/a", "", CreateMode::ephemeral));
}

TEST_F(SqliteSession, files_without_a_session_are_cleaned_up) {
  const std::string left = fixture_.path() + "-live/123456";
  const auto store = fixture_.open();
  std::ofstream(left) << "";
  EXPECT_TRUE(fixture_.run_until([&left] { return !std::filesystem::exists(left); }));
}

TEST_F(SqliteSession, closing_leaves_no_trace) {
  const auto store = fixture_.open();
  run(store->create("/a", "", CreateMode::ephemeral));
  run(store->close());
  RawSqlite raw(fixture_.path());
  EXPECT_EQ(raw.run("SELECT count(*) FROM sessions"), "0");
  EXPECT_EQ(raw.run("SELECT count(*) FROM nodes"), "1");
  for (const auto& file : std::filesystem::directory_iterator(fixture_.path() + "-live")) {
    EXPECT_EQ(file.path().filename(), "bell");
  }
}

}  // namespace
}  // namespace nodepool::coordination::sqlite
