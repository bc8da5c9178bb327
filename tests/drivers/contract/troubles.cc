// Clouds that refuse, fail, and do not answer.

#include "driver/cloud_error.h"
#include "tests/drivers/contract/contract.h"

namespace nodepool::drivers::contract {
namespace {

using driver::LaunchError;
using model::Node;
using model::NodeState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// More calls than all attempts of a launch make.
constexpr std::size_t kAlways = 100;

TEST_P(QuotaContract, a_quota_error_ends_the_launch_and_leaves_nothing) {
  cloud_->provoke(Trouble::quota, 1);
  const Failed failed = fail_to_launch();
  EXPECT_EQ(failed.error.kind(), LaunchError::Kind::quota) << failed.error.what();
  EXPECT_EQ(node(failed.node_id).state, NodeState::aborted);
  reclaim(failed.node_id);
  EXPECT_THAT(machine_ids(), IsEmpty());
  expect_one_machine(launch_new().id);
}

TEST_P(QuotaContract, deleting_a_machine_frees_quota) {
  cloud_->set_capacity(2);
  const Node first = launch_new();
  launch_new();
  const Failed failed = fail_to_launch();
  EXPECT_EQ(failed.error.kind(), LaunchError::Kind::quota) << failed.error.what();
  reclaim(failed.node_id);
  reclaim(first.id);
  expect_one_machine(launch_new().id);
  EXPECT_THAT(machine_ids(), SizeIs(2));
}

TEST_P(DriverContract, another_attempt_may_succeed) {
  for (const Trouble trouble :
       {Trouble::no_capacity, Trouble::creation_error, Trouble::broken_machine}) {
    cloud_->provoke(trouble, 1);
    expect_one_machine(launch_new().id);
  }
}

TEST_P(DriverContract, attempts_come_to_an_end_and_leave_nothing) {
  for (const Trouble trouble :
       {Trouble::no_capacity, Trouble::creation_error, Trouble::broken_machine}) {
    cloud_->provoke(trouble, kAlways);
    const Failed failed = fail_to_launch();
    EXPECT_EQ(failed.error.kind(), LaunchError::Kind::failed) << failed.error.what();
    EXPECT_EQ(node(failed.node_id).state, NodeState::failed);
    EXPECT_LE(machines_of(failed.node_id).size(), 1U) << "of the last attempt";
    reclaim(failed.node_id);
    EXPECT_THAT(machine_ids(), IsEmpty());
    cloud_->provoke(trouble, 0);
  }
}

TEST_P(DriverContract, a_machine_with_a_lost_response_is_found) {
  cloud_->provoke(Trouble::response_lost, 1);
  expect_one_machine(launch_new().id);
  EXPECT_THAT(machine_ids(), SizeIs(1));
}

TEST_P(DriverContract, a_machine_that_was_never_asked_for_is_made_after_all) {
  cloud_->provoke(Trouble::request_lost, 2);
  expect_one_machine(launch_new().id);
  EXPECT_THAT(machine_ids(), SizeIs(1));
}

// After an older copy of the store is back, ids are given once more.
TEST_P(DriverContract, a_machine_of_an_earlier_node_with_the_same_id_is_not_used) {
  const std::string id = add_node();
  driver::Metadata earlier = owner_tags(node(id));
  earlier[std::string(driver::kNodeCreatedKey)] = "1600000000.000000";
  cloud_->add_machine(earlier);
  const std::set<std::string> before = machine_ids();
  ASSERT_THAT(before, SizeIs(1));
  cloud_->provoke(Trouble::request_lost, 1);
  const auto job = start().launch(id);
  process_->run(provider().launching()->remove_leaks());
  process_->run(provider().launching()->remove_leaks());
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "");
  EXPECT_FALSE(before.contains(cloud_->machine_of(node(id))));
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(machine_ids(), ElementsAre(cloud_->machine_of(node(id))))
      << "the other is a leak, also of a node that is being launched";
}

TEST_P(DriverContract, a_machine_without_the_creation_time_of_its_node_is_found) {
  const std::string id = add_node();
  driver::Metadata unmarked = owner_tags(node(id));
  unmarked.erase(std::string(driver::kNodeCreatedKey));
  cloud_->add_machine(unmarked);
  cloud_->provoke(Trouble::request_lost, 1);
  const auto job = finish(start().launch(id));
  EXPECT_EQ(job->failure(), "");
  EXPECT_THAT(machine_ids(), ElementsAre(cloud_->machine_of(node(id))));
}

TEST_P(DriverContract, a_deletion_that_fails_succeeds_another_time) {
  cloud_->provoke(Trouble::deletion_error, 2);
  reclaim_in_the_end(launch_new().id, 4);
}

TEST_P(DriverContract, machines_that_cannot_be_seen_for_a_while_are_not_made_twice) {
  for (std::size_t times = 1; times <= 2; ++times) {
    cloud_->provoke(Trouble::listing_error, times);
    const Node node = launch_new();
    expect_one_machine(node.id);
    cloud_->provoke(Trouble::response_lost, 1);
    cloud_->provoke(Trouble::listing_error, times);
    expect_one_machine(launch_new().id);
  }
  EXPECT_THAT(machine_ids(), SizeIs(4));
}

// What is being waited for may come up all the same: the launch's own limit ends the wait.
TEST_P(DriverContract, a_machine_outlasts_listings_that_cannot_be_read) {
  cloud_->set_boot_time(std::chrono::seconds(60));
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(std::chrono::seconds(20));
  const std::set<std::string> made = machine_ids();
  cloud_->provoke(Trouble::listing_failed, 3);
  finish(job);
  EXPECT_EQ(job->failure(), "");
  EXPECT_THAT(machine_ids(), made) << "no other attempt";
  expect_one_machine(id);
}

// --- on the wire

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WireContract);

// Clouds limit the rate of calls, and are restarted.
TEST_P(WireContract, a_cloud_that_is_busy_is_asked_later) {
  for (std::size_t calls = 1; calls <= 4; ++calls) {
    cloud_->provoke(Trouble::busy, calls);
    const Node node = launch_new();
    expect_one_machine(node.id);
    cloud_->provoke(Trouble::busy, calls);
    reclaim_in_the_end(node.id, 2);
  }
}

TEST_P(WireContract, credentials_that_have_run_out_are_shown_anew) {
  cloud_->provoke(Trouble::token_expired, 1);
  const Node node = launch_new();
  expect_one_machine(node.id);
  cloud_->provoke(Trouble::token_expired, 1);
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), IsEmpty());
}

}  // namespace
}  // namespace nodepool::drivers::contract
