// Watches: every change below a root is reported in order.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/coordination/conformance.h"

namespace nodepool::coordination::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreConformance, a_watch_begins_with_a_resync_and_not_inside_the_call) {
  create("/a");
  WatchLog log(*fixture_, *store_, "/a");
  EXPECT_THAT(log.lines(), IsEmpty());
  ASSERT_TRUE(log.run_until_last_is("resync"));
  EXPECT_THAT(log.lines(), ElementsAre("resync"));
}

TEST_P(StoreConformance, a_change_right_after_watching_is_not_missed) {
  const auto other = fixture_->open();
  create("/a");
  WatchLog log(*fixture_, *store_, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  run(other->set("/a", "", kAnyVersion));
  EXPECT_TRUE(log.run_until_last_is("changed /a"));
}

TEST_P(StoreConformance, changes_of_all_sessions_are_reported_in_order) {
  const auto other = fixture_->open();
  const auto bystander = fixture_->open();
  create("/a");
  WatchLog log(*fixture_, *store_, "/a");
  WatchLog bystander_log(*fixture_, *bystander, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  ASSERT_TRUE(bystander_log.run_until_last_is("resync"));
  create("/a/b");
  run(other->set("/a/b", "data", kAnyVersion));
  run(store_->set("/a/b", "data", kAnyVersion));
  run(other->create("/a/c", "", CreateMode::ephemeral));
  run(store_->remove("/a/b", kAnyVersion));
  run(other->create("/a/b", "", CreateMode::persistent));
  run(other->close());
  const auto expected = ElementsAre("resync", "created /a/b", "changed /a/b", "changed /a/b",
                                    "created /a/c", "removed /a/b", "created /a/b", "removed /a/c");
  ASSERT_TRUE(log.run_until_last_is("removed /a/c"));
  ASSERT_TRUE(bystander_log.run_until_last_is("removed /a/c"));
  EXPECT_THAT(log.lines(), expected);
  EXPECT_THAT(bystander_log.lines(), expected);
}

TEST_P(StoreConformance, the_watched_root_need_not_exist) {
  WatchLog log(*fixture_, *store_, "/a/b");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  create("/a");
  create("/a/b");
  create("/a/b/c");
  run(store_->remove("/a/b/c", kAnyVersion));
  run(store_->remove("/a/b", kAnyVersion));
  create("/a/b");
  ASSERT_TRUE(log.run_until_size_is(6));
  EXPECT_THAT(log.lines(), ElementsAre("resync", "created /a/b", "created /a/b/c", "removed /a/b/c",
                                       "removed /a/b", "created /a/b"));
}

TEST_P(StoreConformance, changes_at_any_depth_are_reported) {
  create("/a");
  WatchLog log(*fixture_, *store_, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  create("/a/b");
  create("/a/b/c");
  create("/a/b/c/d");
  run(store_->set("/a/b/c/d", "", kAnyVersion));
  run(store_->set("/a", "", kAnyVersion));
  ASSERT_TRUE(log.run_until_last_is("changed /a"));
  EXPECT_THAT(log.lines(), ElementsAre("resync", "created /a/b", "created /a/b/c",
                                       "created /a/b/c/d", "changed /a/b/c/d", "changed /a"));
}

TEST_P(StoreConformance, changes_outside_the_root_are_not_reported) {
  create("/x");
  create("/x/a");
  WatchLog log(*fixture_, *store_, "/x/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  create("/x/ab");
  create("/x/a-b");
  create("/x/A");
  create("/a");
  run(store_->set("/x", "", kAnyVersion));
  create("/x/a/b");
  ASSERT_TRUE(log.run_until_last_is("created /x/a/b"));
  EXPECT_THAT(log.lines(), ElementsAre("resync", "created /x/a/b"));
}

TEST_P(StoreConformance, a_watch_of_the_top_reports_everything) {
  WatchLog log(*fixture_, *store_, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  create("/a");
  create("/a/b");
  ASSERT_TRUE(log.run_until_last_is("created /a/b"));
  EXPECT_THAT(log.lines(), ElementsAre("resync", "created /a", "created /a/b"));
}

TEST_P(StoreConformance, overlapping_watches_each_report_a_change) {
  create("/a");
  WatchLog outer(*fixture_, *store_, "/a");
  WatchLog inner(*fixture_, *store_, "/a/b");
  WatchLog again(*fixture_, *store_, "/a/b");
  for (WatchLog* log : {&outer, &inner, &again}) ASSERT_TRUE(log->run_until_last_is("resync"));
  create("/a/b");
  create("/a/c");
  ASSERT_TRUE(outer.run_until_last_is("created /a/c"));
  ASSERT_TRUE(inner.run_until_last_is("created /a/b"));
  ASSERT_TRUE(again.run_until_last_is("created /a/b"));
  EXPECT_THAT(outer.lines(), ElementsAre("resync", "created /a/b", "created /a/c"));
  EXPECT_THAT(inner.lines(), ElementsAre("resync", "created /a/b"));
  EXPECT_THAT(again.lines(), ElementsAre("resync", "created /a/b"));
}

TEST_P(StoreConformance, sequential_records_are_reported_by_their_actual_names) {
  create("/a");
  WatchLog log(*fixture_, *store_, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  run(store_->create("/a/b-", "", CreateMode::persistent_sequential));
  EXPECT_TRUE(log.run_until_last_is("created /a/b-0000000000"));
}

TEST_P(StoreConformance, a_transaction_is_reported_operation_by_operation) {
  create("/a");
  create("/a/b");
  WatchLog log(*fixture_, *store_, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  Transaction transaction;
  transaction.check("/a/b").remove("/a/b").create("/a/c", "").set("/a", "").create("/a/c/d", "");
  run(store_->commit(transaction));
  ASSERT_TRUE(log.run_until_last_is("created /a/c/d"));
  EXPECT_THAT(log.lines(), ElementsAre("resync", "removed /a/b", "created /a/c", "changed /a",
                                       "created /a/c/d"));
}

TEST_P(StoreConformance, rejected_operations_are_not_reported) {
  create("/a");
  WatchLog log(*fixture_, *store_, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  Transaction transaction;
  transaction.create("/a/b", "").set("/a", "").check("/missing");
  EXPECT_THROW(run(store_->commit(transaction)), TransactionError);
  EXPECT_THROW(run(store_->set("/a", "", 5)), StoreError);
  create("/a/c");
  ASSERT_TRUE(log.run_until_last_is("created /a/c"));
  EXPECT_THAT(log.lines(), ElementsAre("resync", "created /a/c"));
}

TEST_P(StoreConformance, many_changes_are_all_reported_in_order) {
  const auto other = fixture_->open();
  create("/a");
  WatchLog log(*fixture_, *other, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  std::vector<std::string> expected = {"resync"};
  for (int i = 0; i < 300; ++i) {
    const std::string path = run(store_->create("/a/", "", CreateMode::persistent_sequential));
    expected.push_back("created " + path);
  }
  ASSERT_TRUE(log.run_until_size_is(expected.size()));
  EXPECT_EQ(log.lines(), expected);
}

TEST_P(StoreConformance, the_record_of_an_event_can_be_read) {
  const auto other = fixture_->open();
  create("/a");
  WatchLog log(*fixture_, *other, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  for (const std::string data : {"one", "two", "three"}) {
    log.clear();
    run(store_->set("/a", data, kAnyVersion));
    ASSERT_TRUE(log.run_until_last_is("changed /a"));
    EXPECT_EQ(run(other->get("/a")).data, data);
  }
}

TEST_P(StoreConformance, a_dropped_subscription_is_silent) {
  create("/a");
  WatchLog dropped_at_once(*fixture_, *store_, "/a");
  dropped_at_once.unsubscribe();
  WatchLog dropped_later(*fixture_, *store_, "/a");
  WatchLog kept(*fixture_, *store_, "/a");
  ASSERT_TRUE(dropped_later.run_until_last_is("resync"));
  ASSERT_TRUE(kept.run_until_last_is("resync"));
  // The event of this change may be in flight.
  create("/a/b");
  dropped_later.unsubscribe();
  const std::vector<std::string> before = dropped_later.lines();
  create("/a/c");
  ASSERT_TRUE(kept.run_until_last_is("created /a/c"));
  EXPECT_THAT(dropped_at_once.lines(), IsEmpty());
  EXPECT_EQ(dropped_later.lines(), before);
}

TEST_P(StoreConformance, a_handler_may_drop_its_own_subscription) {
  create("/a");
  int calls = 0;
  Subscription subscription;
  subscription = store_->watch("/a", [&calls, &subscription](const WatchEvent&) {
    ++calls;
    subscription.reset();
  });
  WatchLog kept(*fixture_, *store_, "/a");
  ASSERT_TRUE(kept.run_until_last_is("resync"));
  create("/a/b");
  ASSERT_TRUE(kept.run_until_last_is("created /a/b"));
  EXPECT_EQ(calls, 1);
}

TEST_P(StoreConformance, a_malformed_root_is_refused) {
  EXPECT_THROW(store_->watch("a", [](const WatchEvent&) {}), StoreError);
  EXPECT_THROW(store_->watch("/a/", [](const WatchEvent&) {}), StoreError);
}

}  // namespace
}  // namespace nodepool::coordination::conformance
