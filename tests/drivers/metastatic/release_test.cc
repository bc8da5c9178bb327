// When backing nodes are given back.

#include "driver/statemachine/launch_journal.h"
#include "drivers/metastatic/disposition.h"
#include "tests/drivers/metastatic/metastatic_fixture.h"

namespace nodepool::drivers::metastatic {
namespace {

using model::Node;
using model::NodeState;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST(Disposition, follows_from_the_record_and_the_rules) {
  BackingRules rules;
  rules.grace_time = 60;
  rules.min_retention = 600;
  rules.max_age = 3600;
  BackingRecord record;
  const auto disposition = [&](BackingFacts facts) {
    return disposition_of(record, &rules, facts);
  };
  EXPECT_EQ(disposition({.is_empty = true, .idle = 60, .age = 700}), Disposition::keep);
  EXPECT_EQ(disposition({.is_empty = true, .idle = 61, .age = 600}), Disposition::keep);
  EXPECT_EQ(disposition({.is_empty = true, .idle = 61, .age = 601}), Disposition::release);
  EXPECT_EQ(disposition({.is_empty = false, .idle = 61, .age = 3600}), Disposition::keep);
  EXPECT_EQ(disposition({.is_empty = false, .idle = 61, .age = 3601}), Disposition::retire);
  EXPECT_EQ(disposition({.is_empty = true, .idle = 0, .age = 3601}), Disposition::release);
  EXPECT_TRUE(takes_nodes(record, rules, 3600));
  EXPECT_FALSE(takes_nodes(record, rules, 3601));

  record.failed = true;
  EXPECT_EQ(disposition({.is_empty = false, .idle = 0, .age = 0}), Disposition::keep);
  EXPECT_EQ(disposition({.is_empty = true, .idle = 0, .age = 0}), Disposition::release);
  EXPECT_FALSE(takes_nodes(record, rules, 0));

  record.failed = false;
  EXPECT_EQ(disposition_of(record, nullptr, {.is_empty = true, .idle = 5, .age = 5}),
            Disposition::keep)
      << "a launcher with another configuration may be about to use it";
  EXPECT_EQ(disposition_of(record, nullptr, {.is_empty = true, .idle = 6, .age = 6}),
            Disposition::release);
  EXPECT_EQ(disposition_of(record, nullptr, {.is_empty = false, .idle = 0, .age = 0}),
            Disposition::keep);
}

TEST(Disposition, is_another_one_after_some_time) {
  BackingRules rules;
  rules.grace_time = 60;
  rules.min_retention = 600;
  BackingRecord record;
  const auto time = [&](BackingFacts facts) { return time_to_change(record, &rules, facts); };
  EXPECT_EQ(time({.is_empty = true, .idle = 50, .age = 550}), 50);
  EXPECT_EQ(time({.is_empty = true, .idle = 20, .age = 590}), 40);
  EXPECT_EQ(time({.is_empty = false, .idle = 50, .age = 550}), std::nullopt);
  rules.max_age = 3600;
  EXPECT_EQ(time({.is_empty = false, .idle = 50, .age = 550}), 3050);
  EXPECT_EQ(time({.is_empty = true, .idle = 20, .age = 3590}), 10);
  EXPECT_EQ(time_to_change(record, nullptr, {.is_empty = false}), std::nullopt);
  EXPECT_EQ(time_to_change(record, nullptr, {.is_empty = true, .idle = 2}), 3);
  rules = BackingRules();
  rules.grace_time = 0;
  EXPECT_EQ(time({.is_empty = true, .idle = 0, .age = 0}), 5) << "others may be about to use it";
  record.failed = true;
  EXPECT_EQ(time({.is_empty = false, .idle = 50, .age = 550}), std::nullopt);
}

TEST_F(MetastaticTest, an_empty_backing_node_is_given_back_at_the_end_of_the_grace_time) {
  rules = "max-parallel-jobs: 2, grace-time: 300";
  const Node first = launch();
  const Node second = launch();
  reclaim(first.id);
  pass_minutes(10);
  EXPECT_EQ(backing().state, NodeState::in_use) << "the second one is there";
  reclaim(second.id);
  process_->pass(std::chrono::seconds(299));
  EXPECT_EQ(backing().state, NodeState::in_use);
  process_->pass(std::chrono::seconds(3));
  EXPECT_EQ(backing().state, NodeState::used);
}

// The predecessor is there until its last launch has ended, which can take hours.
TEST_F(MetastaticTest, a_provider_that_was_replaced_gives_nothing_back_by_its_old_rules) {
  const auto configure = [this](const std::string& grace_time) {
    rules = grace_time;
    more_labels = "          - {name: tiny, backing-label: big, " + grace_time + "}\n";
  };
  configure("grace-time: 60");
  const Node first = launch();
  launchers_.boot_time = std::chrono::minutes(10);
  const JobPointer waiting = begin(add_node("tiny"));
  process_->settle();
  reclaim(first.id);
  const std::string backing_node = launchers_.nodes().at(0).id;
  configure("grace-time: 3600");
  process_->replace_provider();
  EXPECT_TRUE(waiting->ended);
  EXPECT_EQ(installation_.node(backing_node).state, NodeState::in_use);
  process_->pass(std::chrono::minutes(60));
  EXPECT_EQ(installation_.node(backing_node).state, NodeState::used);
}

TEST_F(MetastaticTest, a_command_gives_no_backing_node_back) {
  rules = "grace-time: 60";
  reclaim(launch().id);
  is_serving = false;
  start();
  process_->pass(std::chrono::minutes(10));
  EXPECT_EQ(backing().state, NodeState::in_use);
}

TEST_F(MetastaticTest, an_empty_backing_node_is_given_back_after_the_grace_time) {
  rules = "max-parallel-jobs: 2, grace-time: 120";
  const Node node = launch();
  pass_minutes(10);
  EXPECT_EQ(backing().state, NodeState::in_use);
  reclaim(node.id);
  pass_minutes(1);
  EXPECT_EQ(backing().state, NodeState::in_use);
  pass_minutes(2);
  const Node on = backing();
  EXPECT_EQ(on.state, NodeState::used);
  EXPECT_THAT(launchers_.lock_holders(on.id), IsEmpty());
  EXPECT_EQ(launchers_.reclaim_used(), 1);
}

TEST_F(MetastaticTest, the_grace_time_goes_on_when_the_launcher_is_started_again) {
  rules = "grace-time: 600";
  reclaim(launch().id);
  pass_minutes(6);
  start();
  pass_minutes(3);
  EXPECT_EQ(backing().state, NodeState::in_use);
  pass_minutes(2);
  EXPECT_EQ(backing().state, NodeState::used);
}

TEST_F(MetastaticTest, a_clock_that_is_set_back_keeps_no_backing_node) {
  rules = "grace-time: 60, min-retention-time: 300";
  const Node node = launch();
  installation_.clock.shift_wall_clock(-86400);
  reclaim(node.id);
  installation_.clock.shift_wall_clock(-86400);
  pass_minutes(4);
  EXPECT_EQ(backing().state, NodeState::in_use);
  pass_minutes(2);
  EXPECT_EQ(backing().state, NodeState::used);
}

TEST_F(MetastaticTest, a_backing_node_is_kept_for_its_min_retention_time) {
  rules = "min-retention-time: 1200";
  reclaim(launch().id);
  pass_minutes(19);
  EXPECT_EQ(backing().state, NodeState::in_use);
  pass_minutes(2);
  EXPECT_EQ(backing().state, NodeState::used);
}

TEST_F(MetastaticTest, a_backing_node_beyond_its_max_age_gets_no_more_nodes) {
  rules = "max-parallel-jobs: 2, max-age: 600";
  const Node node = launch();
  pass_minutes(11);
  EXPECT_TRUE(record().failed);
  EXPECT_EQ(backing().state, NodeState::in_use);
  EXPECT_TRUE(process_->run(process_->provider().is_usable(node.id))) << "who is there stays";
  launch();
  EXPECT_THAT(launchers_.nodes(), SizeIs(2));
  reclaim(node.id);
  pass_minutes(1);
  EXPECT_EQ(launchers_.reclaim_used(), 1);
}

TEST_F(MetastaticTest, a_label_that_is_gone_gives_its_backing_nodes_back_when_they_are_empty) {
  more_labels = "          - {name: tiny, backing-label: big}\n";
  rules = "";
  const Node node = launch("tiny");
  more_labels.clear();
  process_->replace_provider();
  pass_minutes(3);
  EXPECT_EQ(backing().state, NodeState::in_use);
  reclaim(node.id);
  pass_minutes(1);
  EXPECT_EQ(backing().state, NodeState::used);
}

TEST_F(MetastaticTest, a_backing_node_that_arrives_too_late_is_released) {
  start();
  launchers_.boot_time = std::chrono::seconds(90);
  begin(add_node());
  process_->pass(std::chrono::minutes(1));
  process_->cancel();
  process_->pass(std::chrono::seconds(31));
  EXPECT_EQ(backing().state, NodeState::in_use);
  pass_minutes(2);
  EXPECT_EQ(backing().state, NodeState::used);
}

TEST_F(MetastaticTest, a_provider_that_is_stopped_withdraws_its_requests) {
  start();
  launchers_.boot_time = std::chrono::hours(1);
  begin(add_node());
  process_->pass(std::chrono::minutes(1));
  process_->cancel();
  EXPECT_THAT(launchers_.requests(), SizeIs(1));
  process_->run(process_->provider().stop());
  EXPECT_THAT(launchers_.requests(), IsEmpty());
}

TEST_F(MetastaticTest, the_slot_of_a_removed_node_is_free_at_the_second_check) {
  const Node node = launch();
  installation_.remove_node(node.id);
  search();
  EXPECT_THAT(record().tenants, SizeIs(1));
  search();
  EXPECT_THAT(record().tenants, IsEmpty());
}

TEST_F(MetastaticTest, a_slot_with_another_node_is_not_the_leak_that_it_was) {
  const Node gone = launch();
  installation_.remove_node(gone.id);
  process_->settle();
  const auto leaks = process_->run(process_->provider().launching()->leaks());
  ASSERT_THAT(leaks, SizeIs(1));
  search();
  search();
  const Node next = launch();
  process_->run(process_->provider().launching()->remove_leak(leaks.at(0)));
  EXPECT_THAT(record().tenants, ElementsAre(Pair(0, Field(&Tenant::external_id, next.id))));
}

// A node with a second slot is deleted. While the store is away, the second slot gets another node.
TEST_F(MetastaticTest, a_slot_that_was_a_second_one_stays_with_its_next_node) {
  const Node node = launch();
  const Node next = launch();
  Node on = backing();
  const BackingRecord final_record = record_of(on);
  BackingRecord earlier_record = final_record;
  earlier_record.tenants.at(1) = {"second", final_record.tenants.at(0).metadata};
  on.user_data = to_user_data(earlier_record);
  installation_.write(on);
  Node uncertain = installation_.node(node.id);
  driver::LaunchJournal journal;
  journal.steps["slot"] = {.begun = uncertain.state_time, .result = std::nullopt};
  uncertain.launch_journal = journal.to_json();
  installation_.write(uncertain);
  process_->settle();
  const JobPointer deletion = process_->reclaim(node.id);
  process_->settle();
  process_->cut_off();
  process_->pass(std::chrono::seconds(3));
  ASSERT_FALSE(deletion->ended);
  on.user_data = to_user_data(final_record);
  installation_.write(on);
  process_->reconnect();
  finish(deletion);
  EXPECT_THAT(record().tenants, ElementsAre(Pair(1, Field(&Tenant::external_id, next.id))));
}

}  // namespace
}  // namespace nodepool::drivers::metastatic
