// Transactions: atomic changes.
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

TEST_P(StoreConformance, a_transaction_does_all_its_operations) {
  create("/checked");
  create("/changed", "old");
  create("/removed");
  Transaction transaction;
  transaction.check("/checked", 0)
      .create("/created", "data")
      .set("/changed", "new", 0)
      .remove("/removed", 0);
  const std::vector<OperationResult> results = run(store_->commit(transaction));
  ASSERT_EQ(results.size(), 4);
  EXPECT_EQ(run(store_->get("/created")).data, "data");
  EXPECT_EQ(run(store_->get("/changed")).data, "new");
  EXPECT_EQ(run(store_->exists("/removed")), std::nullopt);
  EXPECT_EQ(results[1].path, "/created");
  EXPECT_EQ(results[1].stat, run(store_->get("/created")).stat);
  EXPECT_EQ(results[2].stat, run(store_->get("/changed")).stat);
  EXPECT_EQ(results[1].stat.czxid, results[2].stat.mzxid);
}

TEST_P(StoreConformance, an_empty_transaction_succeeds) {
  EXPECT_THAT(run(store_->commit(Transaction())), IsEmpty());
}

TEST_P(StoreConformance, a_refused_operation_undoes_the_whole_transaction) {
  create("/a", "old");
  create("/a/child");
  const Stat before = run(store_->get("/a")).stat;
  Transaction transaction;
  transaction.set("/a", "new")
      .remove("/a/child")
      .create("/a/other", "")
      .create("/a/other/deeper", "")
      .create("/a/mine", "", CreateMode::ephemeral)
      .set("/a", "newer", 1)
      .create("/a/other", "");
  expect_refused_at(6, Kind::node_exists, transaction);
  const Entry after = run(store_->get("/a"));
  EXPECT_EQ(after.data, "old");
  EXPECT_EQ(after.stat, before);
  EXPECT_THAT(run(store_->children("/a")), ElementsAre("child"));
}

TEST_P(StoreConformance, a_refused_transaction_says_which_operation_and_why) {
  create("/a");
  create("/a/b");
  create("/ephemeral-parent");
  run(store_->create("/ephemeral-parent/e", "", CreateMode::ephemeral));
  expect_refused_at(0, Kind::no_node, Transaction().check("/missing").set("/a", ""));
  expect_refused_at(1, Kind::no_node, Transaction().set("/a", "").create("/missing/b", ""));
  expect_refused_at(1, Kind::no_node, Transaction().set("/a", "").set("/missing", ""));
  expect_refused_at(1, Kind::no_node, Transaction().set("/a", "").remove("/missing"));
  expect_refused_at(1, Kind::node_exists, Transaction().set("/a", "").create("/a/b", ""));
  expect_refused_at(1, Kind::not_empty, Transaction().set("/a/b", "").remove("/a"));
  expect_refused_at(1, Kind::bad_version, Transaction().set("/a/b", "").check("/a", 1));
  expect_refused_at(1, Kind::bad_version, Transaction().set("/a", "").set("/a", "", 0));
  expect_refused_at(1, Kind::bad_version, Transaction().set("/a", "").remove("/a/b", 1));
  expect_refused_at(1, Kind::no_children,
                    Transaction().set("/a", "").create("/ephemeral-parent/e/c", ""));
  EXPECT_EQ(run(store_->get("/a")).stat.version, 0);
  EXPECT_EQ(run(store_->get("/a/b")).stat.version, 0);
}

TEST_P(StoreConformance, malformed_operations_refuse_the_transaction) {
  create("/a");
  const std::string too_large(kMaximumDataSize + 1, 'x');
  expect_refused_at(1, Kind::invalid, Transaction().set("/a", "").create("/b/", ""));
  expect_refused_at(1, Kind::too_large, Transaction().set("/a", "").create("/b", too_large));
  expect_refused_at(1, Kind::too_large, Transaction().set("/a", "").set("/a", too_large));
  EXPECT_EQ(run(store_->get("/a")).stat.version, 0);
}

TEST_P(StoreConformance, an_operation_sees_those_before_it) {
  create("/a");
  Transaction transaction;
  transaction.set("/a", "one", 0)
      .set("/a", "two", 1)
      .check("/a", 2)
      .remove("/a", 2)
      .create("/a", "again")
      .create("/a/b", "")
      .remove("/a/b");
  run(store_->commit(transaction));
  EXPECT_EQ(run(store_->get("/a")).data, "again");
  EXPECT_EQ(run(store_->get("/a")).stat.version, 0);
  EXPECT_THAT(run(store_->children("/a")), IsEmpty());
}

TEST_P(StoreConformance, a_lock_root_and_its_contender_are_created_together) {
  create("/node");
  Transaction transaction;
  transaction.create("/node/lock", "")
      .create("/node/lock/me__lock__", "", CreateMode::ephemeral_sequential)
      .create("/node/lock/me__lock__", "", CreateMode::ephemeral_sequential);
  const std::vector<OperationResult> results = run(store_->commit(transaction));
  EXPECT_EQ(results[0].path, "/node/lock");
  EXPECT_EQ(results[1].path, "/node/lock/me__lock__0000000000");
  EXPECT_EQ(results[2].path, "/node/lock/me__lock__0000000001");
  EXPECT_EQ(results[1].stat.ephemeral_owner, store_->session_id());
  EXPECT_EQ(run(store_->get(results[1].path)).stat.ephemeral_owner, store_->session_id());
}

TEST_P(StoreConformance, only_one_of_two_equal_transactions_succeeds) {
  const auto other = fixture_->open();
  create("/a");
  Transaction transaction;
  transaction.check("/a", 0).set("/a", "mine", 0);
  run(store_->commit(transaction));
  EXPECT_THROW(run(other->commit(transaction)), TransactionError);
  EXPECT_EQ(run(store_->get("/a")).stat.version, 1);
}

}  // namespace
}  // namespace nodepool::coordination::conformance
