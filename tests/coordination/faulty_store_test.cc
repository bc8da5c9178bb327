#include "coordination/faulty/faulty_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "coordination/faulty/lane.h"
#include "tests/coordination/process.h"

namespace nodepool::coordination {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = StoreError::Kind;

Task<> create_and_log(Store& store, std::string path, std::vector<std::string>& log) {
  try {
    log.push_back(co_await store.create(path, "", CreateMode::persistent));
  } catch (const StoreError& error) {
    log.push_back(error.what());
  }
}

// Advances the clock until no task sleeps.
void drain(Process& process, async::VirtualClock& clock) {
  process.poll();
  while (clock.next_wakeup() != async::Clock::TimePoint::max()) {
    clock.advance_to(clock.next_wakeup());
    process.poll();
  }
}

class FaultyStoreTest : public testing::Test {
 protected:
  std::optional<Kind> failure_of_create(FaultyStore& store, const std::string& path) {
    try {
      process_.run(store.create(path, "", CreateMode::persistent));
      return std::nullopt;
    } catch (const StoreError& error) {
      return error.kind();
    }
  }

  void drain() { coordination::drain(process_, clock_); }

  bool exists(const std::string& path) const { return server_.tree().exists(path).has_value(); }

  Subscription log_watch(Store& store, std::vector<std::string>& log) {
    return store.watch("/", [&log](const WatchEvent& event) {
      log.push_back(event.kind == WatchEvent::Kind::resync ? "resync" : event.path);
    });
  }

  async::VirtualClock clock_;
  async::Random random_{1};
  MemoryServer server_;
  Process process_{server_, clock_, random_};
};

TEST_F(FaultyStoreTest, an_empty_plan_does_no_harm) {
  FaultyStore store(process_.store, process_.runtime, FaultPlan(), 1);
  std::vector<std::string> log;
  const auto watching = log_watch(store, log);
  process_.run(store.create("/a", "", CreateMode::ephemeral));
  EXPECT_EQ(process_.run(store.get("/a")).stat.ephemeral_owner, store.session_id());
  EXPECT_THAT(log, ElementsAre("resync", "/a"));
  EXPECT_EQ(store.counts(), FaultCounts());
}

TEST_F(FaultyStoreTest, a_disconnected_operation_is_not_done) {
  FaultyStore store(process_.store, process_.runtime, {.disconnected = 1}, 1);
  EXPECT_EQ(failure_of_create(store, "/a"), Kind::disconnected);
  EXPECT_THROW(process_.run(store.get("/")), StoreError);
  EXPECT_FALSE(exists("/a"));
  EXPECT_EQ(store.counts().disconnected, 2);
}

TEST_F(FaultyStoreTest, a_write_of_unknown_outcome_is_done_or_not) {
  FaultyStore store(process_.store, process_.runtime, {.lost_request = 1}, 1);
  EXPECT_EQ(failure_of_create(store, "/a"), Kind::unknown_outcome);
  EXPECT_FALSE(exists("/a"));
  store.set_plan({.lost_answer = 1});
  EXPECT_EQ(failure_of_create(store, "/a"), Kind::unknown_outcome);
  EXPECT_TRUE(exists("/a"));
  EXPECT_EQ(failure_of_create(store, "/a"), Kind::unknown_outcome);
  EXPECT_EQ(store.counts().lost_request, 1);
  EXPECT_EQ(store.counts().lost_answer, 2);
}

TEST_F(FaultyStoreTest, a_full_store_is_read_and_not_written) {
  bool is_full = true;
  FaultyStore store(process_.store, process_.runtime, {.is_full = [&is_full] { return is_full; }},
                    1);
  EXPECT_EQ(failure_of_create(store, "/a"), Kind::no_space);
  EXPECT_NO_THROW(process_.run(store.children("/")));
  EXPECT_FALSE(exists("/a"));
  EXPECT_EQ(store.counts().full, 1);
  is_full = false;
  EXPECT_EQ(failure_of_create(store, "/a"), std::nullopt);
}

TEST_F(FaultyStoreTest, the_outcome_of_a_read_is_never_unknown) {
  FaultyStore store(process_.store, process_.runtime, {.lost_request = 1, .lost_answer = 1}, 1);
  EXPECT_NO_THROW(process_.run(store.get("/")));
  EXPECT_NO_THROW(process_.run(store.exists("/")));
  EXPECT_NO_THROW(process_.run(store.children("/")));
}

TEST_F(FaultyStoreTest, a_session_is_lost_as_the_wrapped_store_loses_it) {
  FaultPlan plan{.lost_session = 1, .lose_session = [this] { process_.store.expire_for_tests(); }};
  FaultyStore store(process_.store, process_.runtime, {}, 1);
  std::vector<SessionState> states;
  const auto listening =
      store.on_session([&states](SessionState state) { states.push_back(state); });
  process_.run(store.create("/mine", "", CreateMode::ephemeral));
  store.set_plan(plan);
  EXPECT_EQ(failure_of_create(store, "/a"), Kind::session_expired);
  process_.poll();
  EXPECT_FALSE(exists("/mine"));
  EXPECT_FALSE(exists("/a"));
  EXPECT_THAT(states, ElementsAre(SessionState::expired, SessionState::connected));
  EXPECT_EQ(store.counts().lost_session, 1);
}

TEST_F(FaultyStoreTest, delays_come_from_the_clock_and_keep_the_order) {
  FaultPlan plan{.delay = 0.5, .longest_delay = milliseconds(100)};
  FaultyStore store(process_.store, process_.runtime, plan, 1);
  std::vector<std::string> created;
  std::vector<std::string> reported;
  std::vector<std::string> expected;
  const auto watching = log_watch(process_.store, reported);
  for (int i = 100; i < 200; ++i) {
    expected.push_back("/" + std::to_string(i));
    process_.scope.spawn("create", create_and_log(store, expected.back(), created));
  }
  process_.poll();
  EXPECT_LT(created.size(), expected.size());
  drain();
  EXPECT_EQ(created, expected);
  expected.insert(expected.begin(), "resync");
  EXPECT_EQ(reported, expected);
  EXPECT_GT(store.counts().delay, 0);
}

TEST_F(FaultyStoreTest, a_later_task_does_not_overtake_an_earlier_one) {
  faulty::Lane lane(process_.runtime);
  std::vector<std::string> arrived;
  auto first = [](faulty::Lane& way, std::vector<std::string>& log) -> Task<> {
    co_await way.pass(milliseconds(10));
    log.push_back("first");
  };
  auto second = [](async::Clock& clock, faulty::Lane& way,
                   std::vector<std::string>& log) -> Task<> {
    co_await clock.sleep_for(milliseconds(10));
    co_await way.pass(milliseconds(0));
    log.push_back("second");
  };
  process_.scope.spawn("first", first(lane, arrived));
  process_.poll();
  process_.scope.spawn("second", second(clock_, lane, arrived));
  process_.poll();
  drain();
  EXPECT_THAT(arrived, ElementsAre("first", "second"));
}

TEST_F(FaultyStoreTest, events_are_late_but_in_order) {
  FaultPlan plan{.delay = 0.5, .longest_delay = milliseconds(100)};
  FaultyStore store(process_.store, process_.runtime, plan, 1);
  std::vector<std::string> reported;
  std::vector<std::string> expected = {"resync"};
  const auto watching = log_watch(store, reported);
  for (int i = 100; i < 150; ++i) {
    expected.push_back("/" + std::to_string(i));
    process_.run(process_.store.create(expected.back(), "", CreateMode::persistent));
  }
  process_.poll();
  EXPECT_LT(reported.size(), expected.size());
  drain();
  EXPECT_EQ(reported, expected);
}

TEST_F(FaultyStoreTest, a_late_event_does_not_reach_a_dropped_subscription) {
  FaultPlan plan{.delay = 1, .longest_delay = milliseconds(100)};
  FaultyStore store(process_.store, process_.runtime, plan, 1);
  std::vector<std::string> reported;
  auto watching = log_watch(store, reported);
  process_.poll();
  watching.reset();
  drain();
  EXPECT_THAT(reported, IsEmpty());
}

TEST_F(FaultyStoreTest, resyncs_come_before_events_or_instead_of_them) {
  FaultyStore store(process_.store, process_.runtime, {.extra_resync = 1}, 1);
  std::vector<std::string> reported;
  const auto watching = log_watch(store, reported);
  process_.run(process_.store.create("/a", "", CreateMode::persistent));
  store.set_plan({.lost_event = 1});
  process_.run(process_.store.create("/b", "", CreateMode::persistent));
  EXPECT_THAT(reported, ElementsAre("resync", "resync", "/a", "resync"));
  EXPECT_EQ(store.counts().extra_resync, 1);
  EXPECT_EQ(store.counts().lost_event, 1);
}

TEST_F(FaultyStoreTest, a_cancellation_does_not_cut_a_delay_short) {
  FaultPlan plan{.delay = 1, .longest_delay = milliseconds(100)};
  FaultyStore store(process_.store, process_.runtime, plan, 1);
  std::vector<std::string> log;
  process_.scope.spawn("create", create_and_log(store, "/a", log));
  process_.poll();
  process_.scope.cancel();
  process_.poll();
  EXPECT_THAT(log, IsEmpty());
  drain();
  EXPECT_THAT(log, ElementsAre("/a"));
}

TEST_F(FaultyStoreTest, operations_under_way_never_end_after_the_store_is_gone) {
  FaultPlan plan{.delay = 1, .longest_delay = milliseconds(100)};
  std::optional<FaultyStore> store(std::in_place, process_.store, process_.runtime, plan, 1);
  std::vector<std::string> log;
  const auto watching = log_watch(*store, log);
  process_.scope.spawn("create", create_and_log(*store, "/a", log));
  process_.poll();
  store.reset();
  drain();
  EXPECT_THAT(log, IsEmpty());
  EXPECT_FALSE(exists("/a"));
}

// The results of a hundred operations of a new process with this seed.
std::vector<std::string> outcomes(std::uint64_t seed) {
  async::VirtualClock clock;
  async::Random random(1);
  MemoryServer server;
  Process process(server, clock, random);
  FaultPlan plan{.disconnected = 0.1,
                 .lost_request = 0.1,
                 .lost_answer = 0.1,
                 .lost_session = 0.1,
                 .delay = 0.3,
                 .longest_delay = milliseconds(10),
                 .lose_session = [&process] { process.store.expire_for_tests(); }};
  FaultyStore store(process.store, process.runtime, plan, seed);
  std::vector<std::string> log;
  for (int i = 0; i < 100; ++i) {
    process.scope.spawn("create", create_and_log(store, "/" + std::to_string(i), log));
    clock.advance_by(milliseconds(2));
    process.poll();
  }
  drain(process, clock);
  EXPECT_EQ(log.size(), 100);
  return log;
}

TEST(FaultyStoreSeedTest, the_same_seed_gives_the_same_faults) {
  EXPECT_EQ(outcomes(1), outcomes(1));
  EXPECT_NE(outcomes(1), outcomes(2));
}

}  // namespace
}  // namespace nodepool::coordination
