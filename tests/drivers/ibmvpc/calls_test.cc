// How many calls nodes take in IBM Cloud.

#include <map>
#include <string>
#include <vector>

#include "tests/drivers/ibmvpc/ibmvpc_fixture.h"

namespace nodepool::drivers::contract {
namespace {

using ibmvpc::StandIn;
using model::Node;
using testing::HasSubstr;
using testing::IsEmpty;

// With the default rate, of one call a second. The resource group exists.
class PacedFixture final : public IbmVpcFixture {
 public:
  explicit PacedFixture(harness::Installation& installation) : IbmVpcFixture(installation) {
    rate = 1;
    cloud().groups.insert("np_fake-contract_main");
  }
};

}  // namespace

class IbmVpcCalls : public IbmVpcContract {};

INSTANTIATE_TEST_SUITE_P(ibmvpc, IbmVpcCalls, testing::Values(backend<IbmVpcFixture>()));

TEST_P(IbmVpcCalls, a_node_without_a_floating_ip_takes_five_calls) {
  ibm().operation_time = {};
  reclaim(launch_new().id);  // reads names, makes the resource group, learns the times
  const auto before = ibm().count();
  const auto floating_ip_lists = ibm().count("GET floating_ips");
  reclaim(launch_new().id);
  EXPECT_EQ(ibm().count() - before, 5U) << "create, list, delete, list, get";
  EXPECT_EQ(ibm().count("GET floating_ips"), floating_ip_lists);
}

TEST_P(IbmVpcCalls, a_deletion_that_a_list_has_shown_needs_no_further_call) {
  ibm().operation_time = std::chrono::seconds(10);
  const Node node = launch_new();
  reclaim(node.id);
  EXPECT_EQ(ibm().count("DELETE instances/ID"), 1U);
  EXPECT_EQ(ibm().count("GET instances/ID"), 0U);
}

TEST_P(IbmVpcCalls, the_end_of_a_floating_ip_takes_one_call) {
  fixture().has_floating_ips = true;
  const Node node = launch_new();
  process_->pass(std::chrono::milliseconds(1));  // the last listing is older now
  const auto before = ibm().count("GET floating_ips");
  reclaim(node.id);
  EXPECT_EQ(ibm().count("GET floating_ips") - before, 1U) << "finds it by name";
  EXPECT_EQ(ibm().count("GET floating_ips/ID"), 1U);
  EXPECT_THAT(ibm().floating_ips, IsEmpty());
}

TEST_P(IbmVpcCalls, a_launch_after_an_idle_time_reads_images_only) {
  launch_new();
  process_->pass(std::chrono::minutes(10));
  const auto all = ibm().count();
  const auto images = ibm().count("GET images");
  const auto made = ibm().count("POST instances");
  const auto job = process_->launch(add_node());
  while (ibm().count("POST instances") == made) ASSERT_TRUE(process_->step());
  EXPECT_EQ(ibm().count() - all, 2U) << "list images, create";
  EXPECT_EQ(ibm().count("GET images") - images, 1U);
  EXPECT_EQ(finish(job)->failure(), "");
}

TEST_P(IbmVpcCalls, a_name_that_old_lists_lack_is_read_again) {
  ibm().keys.clear();
  EXPECT_THAT(fail_to_launch().error.what(), HasSubstr("there is no SSH key `ci`"));
  ibm().keys = {"ci"};
  process_->pass(std::chrono::minutes(6));
  launch_new();
}

// IBM does not refuse the earlier image: it still exists.
TEST_P(IbmVpcCalls, an_image_that_has_got_the_name_of_another_is_used_after_an_idle_time) {
  launch_new();
  ibm().own_images["own-1"] = {
      .name = "debian", .group = "Default", .made = {}, .status = "available"};
  process_->pass(std::chrono::minutes(6));
  const Node node = launch_new();
  const StandIn::Json body = ibm().instances.at(fixture().machine_of(node)).body;
  EXPECT_EQ(body.at("image").at("id"), "own-1");
}

// What has a name may have been deleted and made again, with another id.
TEST_P(IbmVpcCalls, all_names_are_read_again_after_a_refusal) {
  launch_new();
  const std::vector<const char*> lists = {"GET vpcs", "GET subnets", "GET keys", "GET images",
                                          "GET resource_groups"};
  std::map<std::string, std::size_t> before;
  for (const char* list : lists) before[list] = ibm().count(list);
  ibm().fail("POST instances", {{.status = 404, .code = "not_found"}});
  launch_new();
  for (const char* list : lists) EXPECT_EQ(ibm().count(list), before[list] + 1) << list;
}

TEST_P(IbmVpcCalls, a_list_of_machines_reads_profiles_once_and_no_names) {
  cloud_->add_machine({});
  start();
  ibm().fail("GET keys", std::vector<StandIn::Failure>(100));
  for (int look = 0; look < 3; ++look) {
    EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
    process_->pass(std::chrono::minutes(10));
  }
  EXPECT_EQ(ibm().count("GET instances"), 3U);
  EXPECT_EQ(ibm().count("GET instance"), 1U) << "profiles";
  EXPECT_EQ(ibm().count("GET keys"), 0U);
}

TEST_P(IbmVpcCalls, the_first_launches_of_a_pool_make_its_resource_group_in_one_call) {
  launch_together(5);
  EXPECT_EQ(ibm().count("POST resource_groups"), 1U);
  EXPECT_EQ(ibm().count("GET resource_groups"), 2U) << "before and after";
}

TEST_P(IbmVpcCalls, a_resource_group_that_was_refused_is_made_by_the_next_attempts) {
  ibm().fail("POST resource_groups", {{.status = 403, .code = "forbidden"}});
  launch_together(5);
  EXPECT_EQ(ibm().count("POST resource_groups"), 2U);
  EXPECT_EQ(ibm().count("POST instances"), 5U);
}

class IbmVpcBurst : public IbmVpcContract {};

INSTANTIATE_TEST_SUITE_P(ibmvpc, IbmVpcBurst, testing::Values(backend<PacedFixture>()));

// Each instance is gone before a list can show that it is being deleted.
TEST_P(IbmVpcBurst, one_list_serves_all_launches_and_one_all_deletions) {
  ibm().operation_time = std::chrono::milliseconds(500);
  reclaim_together(launch_together(20));
  EXPECT_THAT(machine_ids(), IsEmpty());
  EXPECT_EQ(ibm().count("POST instances"), 20U);
  EXPECT_EQ(ibm().count("DELETE instances/ID"), 20U);
  EXPECT_EQ(ibm().count("GET instances/ID"), 20U);
  EXPECT_EQ(ibm().count("GET instances"), 2U);
}

// The calls that confirm the deletions take 20 s.
TEST_P(IbmVpcBurst, waits_for_turns_do_not_delay_later_deletions) {
  ibm().operation_time = std::chrono::milliseconds(500);
  reclaim_together(launch_together(20));
  const Node node = launch_new();
  const auto begun = installation_.clock.now();
  reclaim(node.id);
  EXPECT_LT(installation_.clock.now() - begun, std::chrono::seconds(8));
}

}  // namespace nodepool::drivers::contract
