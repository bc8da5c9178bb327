#include "coordination/memory/memory_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/coordination/process.h"

namespace nodepool::coordination {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = StoreError::Kind;

Task<> create_later(Store& store, std::string path, CreateMode mode, bool& done) {
  co_await store.create(std::move(path), "", mode);
  done = true;
}

Task<> keep_error(Task<> task, std::optional<Kind>& kind) {
  try {
    co_await std::move(task);
  } catch (const StoreError& error) {
    kind = error.kind();
  }
}

template <typename T>
Task<> drop_result(Task<T> task) {
  co_await std::move(task);
}

class MemoryStoreTest : public testing::Test {
 protected:
  void create(const std::string& path, CreateMode mode = CreateMode::persistent) {
    process_->run(process_->store.create(path, "", mode));
  }

  // Starts the operation, calls `happening` between its execution on the server and its response,
  // and returns how it failed.
  template <typename T>
  std::optional<Kind> failure_when(const std::function<void()>& happening, Task<T> operation) {
    std::optional<Kind> kind;
    bool happened = false;
    auto happen = [](const std::function<void()>& call, bool& done) -> Task<> {
      call();
      done = true;
      co_return;
    };
    process_->scope.spawn("operation", keep_error(drop_result(std::move(operation)), kind));
    process_->scope.spawn("happening", happen(happening, happened));
    process_->poll();
    EXPECT_TRUE(happened);
    return kind;
  }

  Subscription log_watch(MemoryStore& store, const std::string& root) {
    return store.watch(root, [this](const WatchEvent& event) {
      log_.push_back(event.kind == WatchEvent::Kind::resync ? "resync" : event.path);
    });
  }

  Subscription log_states(MemoryStore& store) {
    return store.on_session([this](SessionState state) { states_.push_back(state); });
  }

  async::VirtualClock clock_{1000.5};
  async::Random random_{1};
  MemoryServer server_;
  std::optional<Process> process_{std::in_place, server_, clock_, random_};
  std::vector<std::string> log_;
  std::vector<SessionState> states_;
};

TEST_F(MemoryStoreTest, times_come_from_the_clock) {
  create("/a");
  clock_.advance_by(std::chrono::seconds(2));
  const Stat stat = process_->run(process_->store.set("/a", "", kAnyVersion));
  EXPECT_EQ(stat.ctime, 1'000'500);
  EXPECT_EQ(stat.mtime, 1'002'500);
}

TEST_F(MemoryStoreTest, an_operation_is_done_before_it_is_answered) {
  bool answered = false;
  auto look = [](const MemoryServer& server, const bool& done) -> Task<> {
    EXPECT_NE(server.tree().exists("/a"), std::nullopt);
    EXPECT_FALSE(done);
    co_return;
  };
  process_->scope.spawn("create",
                        create_later(process_->store, "/a", CreateMode::persistent, answered));
  process_->scope.spawn("look", look(server_, answered));
  process_->poll();
  EXPECT_TRUE(answered);
}

TEST_F(MemoryStoreTest, a_session_gets_its_events_on_its_own_loop) {
  Process other(server_, clock_, random_);
  const auto watching = log_watch(other.store, "/");
  other.poll();
  create("/a");
  EXPECT_THAT(log_, ElementsAre("resync"));
  other.poll();
  EXPECT_THAT(log_, ElementsAre("resync", "/a"));
}

TEST_F(MemoryStoreTest, a_suspended_session_is_out_of_reach_and_keeps_its_records) {
  create("/mine", CreateMode::ephemeral);
  const auto listening = log_states(process_->store);
  process_->store.suspend_for_tests();
  EXPECT_THROW(process_->run(process_->store.get("/mine")), StoreError);
  EXPECT_THROW(create("/a"), StoreError);
  EXPECT_EQ(process_->store.session_state(), SessionState::suspended);
  EXPECT_EQ(server_.tree().exists("/a"), std::nullopt);
  EXPECT_NE(server_.tree().exists("/mine"), std::nullopt);

  process_->store.resume_for_tests();
  process_->poll();
  create("/a");
  EXPECT_THAT(states_, ElementsAre(SessionState::suspended, SessionState::connected));
}

TEST_F(MemoryStoreTest, changes_during_a_suspension_are_reported_as_a_resync) {
  Process other(server_, clock_, random_);
  const auto watching = log_watch(other.store, "/");
  other.poll();
  create("/before");  // pending when the connection breaks
  other.store.suspend_for_tests();
  create("/during");
  const auto watching_later = log_watch(other.store, "/later");
  other.poll();
  EXPECT_THAT(log_, ElementsAre("resync"));
  other.store.resume_for_tests();
  create("/after");
  other.poll();
  EXPECT_THAT(log_, ElementsAre("resync", "resync", "resync", "/after"));
}

TEST_F(MemoryStoreTest, a_broken_connection_loses_the_answers_under_way) {
  create("/a");
  MemoryStore& store = process_->store;
  auto suspend = [&store] { store.suspend_for_tests(); };
  EXPECT_EQ(failure_when(suspend, store.create("/b", "", CreateMode::persistent)),
            Kind::unknown_outcome);
  EXPECT_NE(server_.tree().exists("/b"), std::nullopt);
  store.resume_for_tests();
  process_->poll();
  EXPECT_EQ(failure_when(suspend, store.get("/a")), Kind::disconnected);
}

TEST_F(MemoryStoreTest, an_expired_session_loses_the_answers_under_way) {
  MemoryStore& store = process_->store;
  auto expire = [&store] { store.expire_for_tests(); };
  EXPECT_EQ(failure_when(expire, store.create("/a", "", CreateMode::ephemeral)),
            Kind::session_expired);
  EXPECT_EQ(server_.tree().exists("/a"), std::nullopt);
}

TEST_F(MemoryStoreTest, a_session_that_expires_while_suspended_is_notified_when_resumed) {
  create("/mine", CreateMode::ephemeral);
  const std::int64_t session = process_->store.session_id();
  const auto listening = log_states(process_->store);
  process_->store.suspend_for_tests();
  process_->store.expire_for_tests();
  process_->poll();
  EXPECT_EQ(server_.tree().exists("/mine"), std::nullopt);
  EXPECT_THAT(states_, ElementsAre(SessionState::suspended));
  EXPECT_EQ(process_->store.session_id(), session);

  process_->store.resume_for_tests();
  process_->poll();
  EXPECT_THAT(states_,
              ElementsAre(SessionState::suspended, SessionState::expired, SessionState::connected));
  EXPECT_NE(process_->store.session_id(), session);
  create("/mine", CreateMode::ephemeral);
  EXPECT_EQ(server_.tree().get("/mine").stat.ephemeral_owner, process_->store.session_id());
}

TEST_F(MemoryStoreTest, a_session_the_server_ended_is_refused) {
  server_.end_session(process_->store.session_id());
  try {
    create("/a");
    ADD_FAILURE();
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), Kind::session_expired);
    EXPECT_THAT(error.what(), HasSubstr("/a"));
  }
}

TEST_F(MemoryStoreTest, a_killed_session_reports_nothing_more) {
  create("/mine", CreateMode::ephemeral);
  const auto watching = log_watch(process_->store, "/");
  const auto listening = log_states(process_->store);
  process_->poll();
  log_.clear();
  Process other(server_, clock_, random_);

  bool after = false;
  process_->store.kill_for_tests();
  process_->scope.spawn("after",
                        create_later(process_->store, "/b", CreateMode::persistent, after));
  other.run(other.store.create("/c", "", CreateMode::persistent));
  process_->poll();
  EXPECT_FALSE(after);
  EXPECT_EQ(server_.tree().exists("/b"), std::nullopt);
  EXPECT_EQ(server_.tree().exists("/mine"), std::nullopt);
  EXPECT_THAT(log_, IsEmpty());
  EXPECT_THAT(states_, IsEmpty());
}

TEST_F(MemoryStoreTest, a_task_of_a_killed_process_never_resumes) {
  MemoryStore& store = process_->store;
  bool answered = false;
  auto kill = [](MemoryStore& victim) -> Task<> {
    victim.kill_for_tests();
    co_return;
  };
  process_->scope.spawn("create", create_later(store, "/a", CreateMode::persistent, answered));
  process_->scope.spawn("kill", kill(store));
  process_->poll();
  process_->scope.cancel();
  process_->poll();
  EXPECT_NE(server_.tree().exists("/a"), std::nullopt);
  EXPECT_FALSE(answered);
  EXPECT_THAT(process_->errors, IsEmpty());
}

TEST_F(MemoryStoreTest, an_abandoned_session_keeps_its_records_until_it_times_out) {
  create("/mine", CreateMode::ephemeral);
  const std::int64_t session = process_->store.session_id();
  process_->store.abandon_for_tests();
  process_.reset();
  EXPECT_NE(server_.tree().exists("/mine"), std::nullopt);
  server_.end_session(session);
  EXPECT_EQ(server_.tree().exists("/mine"), std::nullopt);
}

TEST_F(MemoryStoreTest, the_server_survives_a_crash_with_operations_and_events_under_way) {
  Process other(server_, clock_, random_);
  const auto watching_here = log_watch(process_->store, "/");
  const auto watching = log_watch(other.store, "/");
  other.poll();
  create("/mine", CreateMode::ephemeral);
  bool answered = false;
  for (int i = 0; i < 10; ++i) {
    process_->scope.spawn("create", create_later(process_->store, "/a" + std::to_string(i),
                                                 CreateMode::ephemeral, answered));
  }
  // Returns when the creations before it have been executed but have not returned.
  process_->run(process_->store.exists("/"));
  EXPECT_NE(server_.tree().exists("/a9"), std::nullopt);
  EXPECT_FALSE(answered);
  other.run(other.store.create("/b", "", CreateMode::persistent));
  process_.reset();
  other.run(other.store.create("/c", "", CreateMode::persistent));
  other.poll();
  EXPECT_EQ(log_.back(), "/c");
  EXPECT_THAT(other.run(other.store.children("/")), ElementsAre("b", "c"));
}

TEST_F(MemoryStoreTest, a_store_may_live_in_a_task_of_its_own_loop) {
  Process other(server_, clock_, random_);
  const auto watching = log_watch(other.store, "/");
  auto live = [](MemoryServer& server, const async::Runtime& runtime) -> Task<> {
    MemoryStore store(server, runtime);
    co_await store.create("/mine", "", CreateMode::ephemeral);
    co_await runtime.clock.sleep_for(std::chrono::hours(1));
  };
  process_->scope.spawn("live", live(server_, process_->runtime));
  process_->poll();
  EXPECT_NE(server_.tree().exists("/mine"), std::nullopt);
  process_.reset();
  EXPECT_EQ(server_.tree().exists("/mine"), std::nullopt);
  other.poll();
  EXPECT_THAT(log_, ElementsAre("resync", "/mine", "/mine"));
}

TEST_F(MemoryStoreTest, a_closed_session_gets_no_more_events) {
  Process other(server_, clock_, random_);
  const auto watching = log_watch(process_->store, "/");
  process_->poll();
  auto close = [](Store& store) -> Task<> { co_await store.close(); };
  other.run(other.store.create("/a", "", CreateMode::persistent));
  process_->scope.spawn("close", close(process_->store));
  process_->poll();
  const std::vector<std::string> before = log_;
  other.run(other.store.create("/b", "", CreateMode::persistent));
  process_->store.suspend_for_tests();
  process_->store.resume_for_tests();
  process_->poll();
  EXPECT_EQ(log_, before);
  EXPECT_EQ(process_->store.session_state(), SessionState::closed);
}

}  // namespace
}  // namespace nodepool::coordination
