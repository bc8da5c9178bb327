// Sequential records: numbers below a parent are unique.
#include <string>

#include "tests/coordination/conformance.h"

namespace nodepool::coordination::conformance {
namespace {

constexpr auto kSequential = CreateMode::persistent_sequential;

TEST_P(StoreConformance, sequential_records_count_from_zero) {
  create("/a");
  EXPECT_EQ(run(store_->create("/a/b-", "one", kSequential)), "/a/b-0000000000");
  EXPECT_EQ(run(store_->create("/a/b-", "two", kSequential)), "/a/b-0000000001");
  EXPECT_EQ(run(store_->get("/a/b-0000000001")).data, "two");
}

TEST_P(StoreConformance, a_sequential_name_may_be_the_number_alone) {
  create("/a");
  EXPECT_EQ(run(store_->create("/a/", "", kSequential)), "/a/0000000000");
  EXPECT_EQ(run(store_->create("/a/", "", kSequential)), "/a/0000000001");
}

TEST_P(StoreConformance, the_sequence_counts_all_children_ever_created) {
  create("/a");
  create("/a/lock");
  EXPECT_EQ(run(store_->create("/a/b-", "", kSequential)), "/a/b-0000000001");
  EXPECT_EQ(run(store_->create("/a/c-", "", CreateMode::ephemeral_sequential)), "/a/c-0000000002");
  create("/a/b-0000000001/deeper");
  EXPECT_EQ(run(store_->create("/a/b-", "", kSequential)), "/a/b-0000000003");
}

TEST_P(StoreConformance, removals_do_not_move_the_sequence) {
  create("/a");
  run(store_->create("/a/b-", "", kSequential));
  run(store_->remove("/a/b-0000000000", kAnyVersion));
  EXPECT_EQ(run(store_->create("/a/b-", "", kSequential)), "/a/b-0000000001");
  run(store_->remove("/a/b-0000000001", kAnyVersion));
  EXPECT_EQ(run(store_->create("/a/c-", "", kSequential)), "/a/c-0000000002");
}

TEST_P(StoreConformance, refused_creations_do_not_move_the_sequence) {
  create("/a");
  create("/a/b");
  expect_refused(StoreError::Kind::node_exists, "/a/b",
                 store_->create("/a/b", "", CreateMode::persistent));
  Transaction transaction;
  transaction.create("/a/c-", "", kSequential).check("/missing");
  EXPECT_THROW(run(store_->commit(transaction)), TransactionError);
  EXPECT_EQ(run(store_->create("/a/c-", "", kSequential)), "/a/c-0000000001");
}

TEST_P(StoreConformance, a_parent_created_again_counts_from_zero) {
  create("/a");
  run(store_->create("/a/b-", "", kSequential));
  run(store_->remove("/a/b-0000000000", kAnyVersion));
  run(store_->remove("/a", kAnyVersion));
  create("/a");
  EXPECT_EQ(run(store_->create("/a/b-", "", kSequential)), "/a/b-0000000000");
}

TEST_P(StoreConformance, sessions_share_the_sequence) {
  const auto other = fixture_->open();
  create("/a");
  EXPECT_EQ(run(store_->create("/a/b-", "", kSequential)), "/a/b-0000000000");
  EXPECT_EQ(run(other->create("/a/b-", "", kSequential)), "/a/b-0000000001");
  EXPECT_EQ(run(store_->create("/a/b-", "", kSequential)), "/a/b-0000000002");
}

}  // namespace
}  // namespace nodepool::coordination::conformance
