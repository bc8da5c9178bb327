#include "driver/statemachine/machine_inventory.h"

#include "tests/driver/statemachine/provider_test.h"

namespace nodepool::driver {
namespace {

using model::Node;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class MachineInventoryTest : public ProviderTest {
 protected:
  bool is_usable(const Node& node) {
    return process_->run(process_->provider().is_usable(node.id));
  }
  std::map<std::string, std::string> terminated() {
    return process_->run(process_->provider().terminated());
  }

  // A ready node that is older than any delay of listings.
  Node launch_old() {
    Node node = launch_new();
    process_->pass(std::chrono::minutes(5));
    cloud_->calls.clear();
    return node;
  }

  // The next listings lack all machines.
  void hide_machines(int listings) { cloud_->empty_listings = listings; }

  // How long it takes until the node is found to be usable.
  async::Duration delay_of(const Node& node) {
    const auto begun = installation_.clock.now();
    EXPECT_TRUE(is_usable(node));
    return installation_.clock.now() - begun;
  }

  static Task<> ask(Provider& provider, std::string id, bool& usable) {
    usable = co_await provider.is_usable(std::move(id));
  }
};

TEST_F(MachineInventoryTest, nodes_that_run_share_one_listing) {
  const Node one = launch_old();
  const Node other = launch_old();
  EXPECT_TRUE(is_usable(one));
  EXPECT_TRUE(is_usable(other));
  EXPECT_THAT(terminated(), IsEmpty());
  EXPECT_THAT(cloud_->calls, ElementsAre("list"));
  process_->pass(std::chrono::seconds(11));
  EXPECT_TRUE(is_usable(one));
  EXPECT_EQ(cloud_->count("list"), 2U);
}

TEST_F(MachineInventoryTest, a_node_without_a_record_is_not_usable) {
  const Node node = launch_old();
  installation_.remove_node(node.id);
  process_->settle();
  EXPECT_FALSE(is_usable(node)) << "though its machine runs";
  EXPECT_THAT(cloud_->calls, IsEmpty());
}

TEST_F(MachineInventoryTest, a_machine_that_one_listing_lacks_is_usable) {
  const Node node = launch_old();
  hide_machines(1);
  EXPECT_TRUE(is_usable(node));
  EXPECT_EQ(cloud_->count("list"), 2U);
}

TEST_F(MachineInventoryTest, a_machine_that_two_listings_lack_is_not_usable) {
  const Node node = launch_old();
  hide_machines(2);
  EXPECT_FALSE(is_usable(node));
  EXPECT_TRUE(has_logged("Node " + node.id + ": its machine is not listed"));
  EXPECT_THAT(terminated(), IsEmpty()) << "that is not known";
}

TEST_F(MachineInventoryTest, a_new_machine_of_another_launcher_is_usable_before_it_is_listed) {
  const Node node = launch_new();
  installation_.clock.shift_wall_clock(-1);  // the other launcher's is ahead
  hide_machines(1000);
  EXPECT_TRUE(is_usable(node));
}

TEST_F(MachineInventoryTest, a_node_from_before_the_clock_was_set_back_is_not_new) {
  const Node node = launch_old();
  installation_.clock.shift_wall_clock(-3600);
  hide_machines(2);
  EXPECT_FALSE(is_usable(node));
  cloud_->state = Machine::State::stopped;
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(terminated(), ElementsAre(Pair(node.id, testing::_)));
}

TEST_F(MachineInventoryTest, a_machine_that_is_missing_from_listings_with_gaps_is_usable) {
  const Node node = launch_old();
  cloud_->has_complete_listings = false;
  hide_machines(1000);
  const auto begun = installation_.clock.now();
  EXPECT_TRUE(is_usable(node));
  EXPECT_EQ(installation_.clock.now(), begun) << "its request does not wait";
}

TEST_F(MachineInventoryTest, one_listing_that_shows_a_machine_after_a_gap_is_not_enough) {
  const Node node = launch_old();
  cloud_->has_complete_listings = false;
  cloud_->state = Machine::State::building;
  cloud_->latency = std::chrono::milliseconds(100);  // the second listing begins after the first
  hide_machines(1);
  bool usable = false;
  const auto job = process_->begin(ask(process_->provider(), node.id, usable));
  process_->pass(std::chrono::seconds(1));
  ASSERT_FALSE(job->ended);
  cloud_->state = Machine::State::running;
  process_->run_until_ended(*job);
  EXPECT_TRUE(usable);
  EXPECT_EQ(cloud_->count("list"), 3U);
}

TEST_F(MachineInventoryTest, a_machine_that_cannot_be_listed_is_usable) {
  const Node node = launch_old();
  cloud_->fail("list", {CloudError::Kind::transient}, 1000);
  EXPECT_TRUE(is_usable(node));
  EXPECT_TRUE(has_logged("Cannot check node " + node.id + ", assuming that it is healthy: "));
  EXPECT_THROW(terminated(), CloudError);
}

TEST_F(MachineInventoryTest, a_listing_that_does_not_end_keeps_no_machine_from_its_request) {
  const Node node = launch_old();
  const Node other = launch_old();
  cloud_->hangs = "list";
  EXPECT_EQ(delay_of(node), std::chrono::seconds(2));
  EXPECT_TRUE(has_logged("Cannot check node " + node.id + ", assuming that it is healthy: "));
  EXPECT_EQ(delay_of(other), std::chrono::seconds(0)) << "it has been waited for";
  EXPECT_EQ(cloud_->count("list"), 1U);
}

TEST_F(MachineInventoryTest, a_cloud_that_hangs_is_reported_for_what_has_not_just_run) {
  const Node node = launch_old();
  EXPECT_TRUE(is_usable(node));
  process_->pass(std::chrono::seconds(80));
  cloud_->hangs = "list";
  EXPECT_EQ(delay_of(node), std::chrono::seconds(2));
  EXPECT_FALSE(has_logged("Cannot check node"));
  process_->pass(std::chrono::seconds(10));
  EXPECT_TRUE(is_usable(node));
  EXPECT_TRUE(has_logged("Cannot check node " + node.id + ", assuming that it is healthy: "));
}

TEST_F(MachineInventoryTest, a_failure_is_reported_also_for_what_has_just_run) {
  const Node node = launch_old();
  EXPECT_TRUE(is_usable(node));
  process_->pass(std::chrono::seconds(30));
  cloud_->fail("list", {CloudError::Kind::transient}, 1000);
  EXPECT_TRUE(is_usable(node));
  EXPECT_TRUE(has_logged("Cannot check node " + node.id + ", assuming that it is healthy: "));
}

TEST_F(MachineInventoryTest, a_slow_listing_is_read_in_the_background) {
  const Node node = launch_old();
  const Node other = launch_old();
  EXPECT_TRUE(is_usable(node));
  process_->pass(std::chrono::minutes(1));
  cloud_->latency = std::chrono::seconds(12);
  cloud_->calls.clear();
  EXPECT_EQ(delay_of(node), std::chrono::seconds(2));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(delay_of(other), std::chrono::seconds(0)) << "for the same listing";
    process_->pass(std::chrono::seconds(2));
  }
  EXPECT_EQ(cloud_->count("list"), 1U);
  process_->pass(std::chrono::seconds(20));
  cloud_->state = Machine::State::stopped;
  EXPECT_EQ(delay_of(node), std::chrono::seconds(2));
  process_->pass(std::chrono::seconds(12));
  EXPECT_FALSE(is_usable(node)) << "the listing has ended";
}

TEST_F(MachineInventoryTest, what_the_last_listing_lacks_is_not_handed_out_before_another) {
  const Node node = launch_old();
  hide_machines(1);
  EXPECT_THAT(terminated(), IsEmpty());
  process_->pass(std::chrono::minutes(1));
  cloud_->latency = std::chrono::seconds(12);
  EXPECT_EQ(delay_of(node), std::chrono::seconds(12));
  cloud_->latency = {};
  hide_machines(1);
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(terminated(), IsEmpty());
  process_->pass(std::chrono::minutes(1));
  cloud_->hangs = "list";
  EXPECT_EQ(delay_of(node), std::chrono::seconds(15)) << "unknown is not gone";
}

TEST_F(MachineInventoryTest, a_listing_from_before_a_launch_says_nothing_of_its_node) {
  launch_old();
  EXPECT_THAT(terminated(), IsEmpty());
  const std::string id = add_node();
  process_->run_until_ended(*process_->launch(id));
  process_->settle();
  process_->pass(std::chrono::seconds(30));
  cloud_->hangs = "list";
  EXPECT_EQ(delay_of(node(id)), std::chrono::seconds(2));
}

TEST_F(MachineInventoryTest, machines_that_do_not_run_are_not_usable_and_say_why) {
  using State = Machine::State;
  const Node node = launch_old();
  const std::string machine = "instance " + node.external_id_text();
  for (const auto& [state, why] :
       {std::pair(State::stopped, " has stopped"), std::pair(State::failed, " has failed"),
        std::pair(State::deleting, " is being deleted"),
        std::pair(State::deleted, " has been deleted")}) {
    cloud_->state = state;
    process_->pass(std::chrono::minutes(1));
    EXPECT_FALSE(is_usable(node)) << why;
    EXPECT_THAT(terminated(), ElementsAre(Pair(node.id, machine + why)));
  }
  cloud_->explanation = "the spot market has taken it";
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(terminated(), ElementsAre(Pair(node.id, cloud_->explanation)));
  cloud_->state = State::building;
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(is_usable(node)) << "it has just been started once more";
  EXPECT_THAT(terminated(), IsEmpty());
}

// As a namespace that does not have its pod yet.
TEST_F(MachineInventoryTest, a_machine_that_stands_still_during_its_launch_has_not_ended) {
  cloud_->boot_time = std::chrono::minutes(2);
  cloud_->state = Machine::State::stopped;
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(cloud_->boot_time - std::chrono::seconds(1));
  ASSERT_FALSE(node(id).external_id.is_null());
  EXPECT_THAT(terminated(), IsEmpty()) << "it is being launched";
  cloud_->state = Machine::State::running;
  process_->run_until_ended(*job);
  process_->settle();
  ASSERT_EQ(node(id).state, model::NodeState::ready);
  EXPECT_THAT(terminated(), IsEmpty()) << "the listing is from before its end";
  EXPECT_EQ(cloud_->count("list"), 1U);
}

TEST_F(MachineInventoryTest, a_listing_that_takes_longer_than_a_launch_says_nothing_of_its_node) {
  cloud_->state = Machine::State::stopped;
  const Node node = launch_new();
  cloud_->latency = std::chrono::minutes(3);
  EXPECT_THAT(terminated(), IsEmpty());
  cloud_->latency = {};
  EXPECT_THAT(terminated(), ElementsAre(Pair(node.id, testing::_)));
}

TEST_F(MachineInventoryTest, a_second_machine_with_the_tags_of_a_node_says_nothing_about_it) {
  const Node node = launch_old();
  Machine& other = cloud_->other_machines.emplace_back();
  other.external_id = model::json_string("other");
  other.metadata = owner_tags(node);
  other.state = Machine::State::stopped;
  EXPECT_THAT(terminated(), IsEmpty());
  EXPECT_TRUE(is_usable(node));
}

}  // namespace
}  // namespace nodepool::driver
