// Sessions: ephemeral records and the ways a session ends.
#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/coordination/conformance.h"

namespace nodepool::coordination::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = StoreError::Kind;

constexpr auto kEphemeral = CreateMode::ephemeral;

TEST_P(StoreConformance, a_new_session_is_connected_and_unlike_all_others) {
  const auto other = fixture_->open();
  EXPECT_EQ(store_->session_state(), SessionState::connected);
  EXPECT_NE(store_->session_id(), 0);
  EXPECT_NE(store_->session_id(), other->session_id());
}

TEST_P(StoreConformance, an_ephemeral_record_names_its_session) {
  create("/a");
  run(store_->create("/a/b", "data", kEphemeral));
  const Entry entry = run(store_->get("/a/b"));
  EXPECT_EQ(entry.data, "data");
  EXPECT_EQ(entry.stat.ephemeral_owner, store_->session_id());
}

TEST_P(StoreConformance, ephemeral_records_have_no_children) {
  run(store_->create("/a", "", kEphemeral));
  for (const auto mode : {CreateMode::persistent, kEphemeral, CreateMode::persistent_sequential}) {
    expect_refused(Kind::no_children, "/a/b", store_->create("/a/b", "", mode));
  }
}

TEST_P(StoreConformance, other_sessions_may_change_and_remove_an_ephemeral_record) {
  const auto other = fixture_->open();
  run(store_->create("/a", "", kEphemeral));
  const Stat changed = run(other->set("/a", "data", kAnyVersion));
  EXPECT_EQ(changed.ephemeral_owner, store_->session_id());
  run(other->remove("/a", kAnyVersion));
  EXPECT_EQ(run(store_->exists("/a")), std::nullopt);
  // A node that another session creates there now does not vanish with the first owner.
  run(other->create("/a", "", CreateMode::persistent));
  run(store_->close());
  EXPECT_NE(run(other->exists("/a")), std::nullopt);
}

TEST_P(StoreConformance, ephemeral_records_vanish_when_their_session_is_closed) {
  const auto other = fixture_->open();
  create("/a", "stays");
  run(store_->create("/a/mine", "", kEphemeral));
  run(store_->create("/a/mine-", "", CreateMode::ephemeral_sequential));
  run(other->create("/a/theirs", "", kEphemeral));
  run(store_->close());
  EXPECT_THAT(run(other->children("/a")), ElementsAre("theirs"));
  EXPECT_EQ(run(other->get("/a")).data, "stays");
}

TEST_P(StoreConformance, ephemeral_records_vanish_when_their_process_dies) {
  const auto other = fixture_->open();
  create("/a");
  run(store_->create("/a/mine", "", kEphemeral));
  run(other->create("/a/theirs", "", kEphemeral));
  WatchLog log(*fixture_, *other, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  fixture_->kill(std::move(store_));
  EXPECT_TRUE(log.run_until_last_is("removed /a/mine"));
  EXPECT_THAT(run(other->children("/a")), ElementsAre("theirs"));
}

TEST_P(StoreConformance, persistent_records_outlive_all_sessions) {
  create("/a", "stays");
  run(store_->close());
  const auto later = fixture_->open();
  EXPECT_EQ(run(later->get("/a")).data, "stays");
}

TEST_P(StoreConformance, a_closed_store_does_nothing_more) {
  run(store_->close());
  EXPECT_EQ(store_->session_state(), SessionState::closed);
  expect_refused(Kind::closed, "/a", store_->create("/a", "", CreateMode::persistent));
  expect_refused(Kind::closed, "/", store_->get("/"));
  expect_refused(Kind::closed, "/", store_->exists("/"));
  expect_refused(Kind::closed, "/", store_->set("/", "", kAnyVersion));
  expect_refused(Kind::closed, "/a", store_->remove("/a", kAnyVersion));
  expect_refused(Kind::closed, "/", store_->children("/"));
  expect_refused(Kind::closed, "/a", store_->commit(Transaction().create("/a", "")));
  const auto other = fixture_->open();
  EXPECT_EQ(run(other->exists("/a")), std::nullopt);
}

TEST_P(StoreConformance, closing_is_reported_to_current_subscribers) {
  std::vector<SessionState> states;
  std::vector<SessionState> dropped;
  const auto listening =
      store_->on_session([&states](SessionState state) { states.push_back(state); });
  auto not_listening =
      store_->on_session([&dropped](SessionState state) { dropped.push_back(state); });
  not_listening.reset();
  run(store_->close());
  ASSERT_TRUE(fixture_->run_until([&states] { return !states.empty(); }));
  EXPECT_THAT(states, ElementsAre(SessionState::closed));
  EXPECT_THAT(dropped, IsEmpty());
}

TEST_P(StoreConformance, an_expired_session_is_replaced) {
  const auto other = fixture_->open();
  create("/a");
  run(store_->create("/a/mine", "", kEphemeral));
  WatchLog log(*fixture_, *store_, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  std::vector<SessionState> states;
  const auto listening =
      store_->on_session([&states](SessionState state) { states.push_back(state); });
  const std::int64_t old_session = store_->session_id();
  if (!fixture_->expire(*store_)) GTEST_SKIP() << "sessions of this store do not expire";

  ASSERT_TRUE(fixture_->run_until(
      [&states] { return !states.empty() && states.back() == SessionState::connected; }));
  EXPECT_THAT(states, testing::Contains(SessionState::expired).Times(1));
  EXPECT_EQ(store_->session_state(), SessionState::connected);
  EXPECT_NE(store_->session_id(), old_session);
  EXPECT_EQ(run(store_->exists("/a/mine")), std::nullopt);
  ASSERT_TRUE(log.run_until_last_is("resync"));
  run(other->create("/a/theirs", "", CreateMode::persistent));
  EXPECT_TRUE(log.run_until_last_is("created /a/theirs"));
}

}  // namespace
}  // namespace nodepool::coordination::conformance
