// Machines that are made and deleted as they should be.

#include "driver/statemachine/instance.h"
#include "tests/drivers/contract/contract.h"

namespace nodepool::drivers::contract {
namespace {

using model::Node;
using model::NodeState;
using std::chrono::hours;
using std::chrono::minutes;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;

namespace {

// The record of a node that somebody else deletes at the same time.
class UnsavedRecord final : public driver::NodeRecord {
 public:
  explicit UnsavedRecord(Node node) : node_(std::move(node)) {}
  Node& node() override { return node_; }
  async::Task<> save() override { co_return; }

 private:
  Node node_;
};

}  // namespace

TEST_P(DriverContract, a_machine_has_the_owner_tags_of_its_node) {
  const Node node = launch_new();
  expect_one_machine(node.id);
  EXPECT_THAT(cloud_->machines().at(0).metadata, IsSupersetOf(owner_tags(kProvider, node.id)));
  EXPECT_FALSE(node.interface_ip.value_or("").empty());
  EXPECT_EQ(
      driver::Resources::parse(node.resources).value_or(driver::Resources()).amount("instances"),
      1);
}

TEST_P(DriverContract, a_reclaimed_node_has_no_machine) {
  const Node node = launch_new();
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), IsEmpty());
  EXPECT_FALSE(is_recorded(node.id));
}

TEST_P(DriverContract, deleting_it_again_is_no_mistake) {
  const Node node = launch_new();
  const Node other = launch_new();
  reclaim(node.id);
  UnsavedRecord record(node);
  EXPECT_EQ(process_->run(provider().reclaim(record)), std::nullopt);
  expect_one_machine(other.id);
}

async::Task<> reclaim_from(driver::Provider& provider, Node node) {
  UnsavedRecord record(std::move(node));
  co_await provider.reclaim(record);
}

TEST_P(DriverContract, two_may_delete_a_machine_at_the_same_time) {
  const Node node = launch_new();
  const auto one = process_->reclaim(node.id);
  const auto other = process_->begin(reclaim_from(provider(), node));
  EXPECT_EQ(finish(one)->failure(), "");
  EXPECT_EQ(finish(other)->failure(), "");
  EXPECT_THAT(machine_ids(), IsEmpty());
}

TEST_P(DriverContract, many_are_made_and_deleted_side_by_side) {
  start();
  std::vector<std::shared_ptr<harness::Job>> jobs;
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(add_node());
  for (const std::string& id : ids) jobs.push_back(process_->launch(id));
  for (const auto& job : jobs) EXPECT_EQ(finish(job)->failure(), "");
  for (const std::string& id : ids) expect_one_machine(id);
  EXPECT_THAT(machine_ids(), SizeIs(5));
  jobs.clear();
  for (const std::string& id : ids) jobs.push_back(process_->reclaim(id));
  for (const auto& job : jobs) EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(machine_ids(), IsEmpty());
}

TEST_P(DriverContract, a_ready_machine_is_usable) {
  const Node node = launch_new();
  EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
}

TEST_P(DriverContract, the_machine_is_in_the_zone_that_was_chosen) {
  start();
  process_->run(provider().available());
  const std::vector<std::string> zones = provider().offer()->pool(kPool).zones;
  for (const std::string& zone : zones) {
    Node node = this->node(add_node());
    node.az = zone;
    installation_.write(node);
    EXPECT_EQ(finish(process_->launch(node.id))->failure(), "");
    EXPECT_EQ(this->node(node.id).az, zone);
  }
}

TEST_P(DriverContract, a_machine_that_comes_up_slowly_is_recorded_meanwhile) {
  cloud_->set_boot_time(minutes(10));
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(minutes(5));
  EXPECT_FALSE(job->ended);
  EXPECT_EQ(node(id).state, NodeState::building);
  EXPECT_THAT(machines_of(id), testing::ElementsAre(cloud_->machine_of(node(id))));
  EXPECT_EQ(finish(job)->failure(), "");
  expect_one_machine(id);
}

TEST_P(DriverContract, a_machine_that_never_comes_up_is_given_up) {
  cloud_->set_boot_time(hours(100));
  start();
  const auto begun = installation_.clock.now();
  const Failed failed = fail_to_launch();
  EXPECT_EQ(failed.error.kind(), driver::LaunchError::Kind::unanswered)
      << "for all that the launch knows";
  EXPECT_EQ(installation_.clock.now() - begun, 3 * cloud_->launch_timeout())
      << "for three attempts";
  EXPECT_THAT(machines_of(failed.node_id), SizeIs(1)) << "of the last attempt";
  reclaim(failed.node_id);
  EXPECT_THAT(machine_ids(), IsEmpty());
}

TEST_P(DriverContract, a_machine_is_reclaimed_before_it_is_up) {
  cloud_->set_boot_time(minutes(10));
  const std::string id = add_node();
  start().launch(id);
  process_->pass(minutes(5));
  process_->cancel();
  EXPECT_THAT(machines_of(id), SizeIs(1));
  reclaim(id);
  EXPECT_THAT(machine_ids(), IsEmpty());
}

// --- machines that end by themselves

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EndContract);

TEST_P(EndContract, a_machine_ended_by_its_cloud_has_a_termination_reason) {
  const Node node = launch_new();
  const Node other = launch_new();
  EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
  process_->pass(minutes(1));  // older than the listings
  cloud_->end_machine(cloud_->machine_of(node));
  for (int look = 0; look < 2; ++look) {  // on its way, and gone
    process_->pass(std::chrono::seconds(20));
    const std::map<std::string, std::string> terminated = process_->run(provider().terminated());
    ASSERT_THAT(terminated, testing::SizeIs(1));
    EXPECT_EQ(terminated.begin()->first, node.id);
    EXPECT_THAT(terminated.begin()->second, testing::Not(IsEmpty()));
    EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
  }
  EXPECT_TRUE(process_->run(provider().is_usable(other.id)));
  reclaim(node.id);
  expect_one_machine(other.id);
}

TEST_P(EndContract, a_machine_that_is_not_listed_has_no_termination_reason) {
  Node node = launch_new();
  node.external_id = model::json_string("unheard-of");
  installation_.write(node);
  process_->pass(minutes(1));
  EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
  EXPECT_EQ(process_->run(provider().is_usable(node.id)), !cloud_->has_complete_listings());
  node.external_id = {"7"};
  installation_.write(node);
  process_->settle();
  EXPECT_EQ(process_->run(provider().is_usable(node.id)), !cloud_->has_complete_listings());
}

}  // namespace
}  // namespace nodepool::drivers::contract
