// The contract of all drivers that make machines, on a stand-in of the APIs.

#include "driver/ownership.h"
#include "drivers/ibmvpc/owner_names.h"
#include "tests/drivers/ibmvpc/ibmvpc_fixture.h"

namespace nodepool::drivers::contract {
namespace {

using ibmvpc::StandIn;
using model::Node;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// All answers take a while.
class SlowFixture final : public IbmVpcFixture {
 public:
  explicit SlowFixture(harness::Installation& installation) : IbmVpcFixture(installation) {
    cloud().latency = std::chrono::milliseconds(1500);
  }
};

// All machines have floating IPs.
class PublicFixture final : public IbmVpcFixture {
 public:
  explicit PublicFixture(harness::Installation& installation) : IbmVpcFixture(installation) {
    has_floating_ips = true;
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(ibmvpc, DriverContract, testing::Values(backend<IbmVpcFixture>()));
INSTANTIATE_TEST_SUITE_P(ibmvpc, DeathContract, testing::Values(backend<IbmVpcFixture>()));
INSTANTIATE_TEST_SUITE_P(ibmvpc, QuotaContract, testing::Values(backend<IbmVpcFixture>()));
INSTANTIATE_TEST_SUITE_P(ibmvpc, ImageContract, testing::Values(backend<IbmVpcFixture>()));
INSTANTIATE_TEST_SUITE_P(ibmvpc, EndContract, testing::Values(backend<IbmVpcFixture>()));
INSTANTIATE_TEST_SUITE_P(ibmvpc, WireContract, testing::Values(backend<IbmVpcFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DriverContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DeathContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(floating_ips, DriverContract, testing::Values(backend<PublicFixture>()));
INSTANTIATE_TEST_SUITE_P(floating_ips, DeathContract, testing::Values(backend<PublicFixture>()));

INSTANTIATE_TEST_SUITE_P(ibmvpc, IbmVpcContract, testing::Values(backend<IbmVpcFixture>()));

TEST_P(IbmVpcContract, a_node_has_the_addresses_and_the_zone_of_its_machine) {
  const Node node = launch_new();
  EXPECT_EQ(node.external_id_text(), "np" + node.id);
  EXPECT_EQ(node.cloud, "IBM");
  EXPECT_EQ(node.region, "north");
  EXPECT_EQ(node.az, "north-1");
  EXPECT_EQ(node.public_ipv4, std::nullopt);
  EXPECT_THAT(*node.private_ipv4, HasSubstr("10.0.0."));
  EXPECT_EQ(node.interface_ip, node.private_ipv4);
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(driver::Resources::parse(node.resources),
            driver::Resources({{"instances", 1}, {"cores", 2}, {"ram", 8}}));
  EXPECT_EQ(ibm().count("POST floating_ips"), 0U);
}

TEST_P(IbmVpcContract, a_machine_is_made_of_what_is_configured) {
  const Node node = launch_new();
  const StandIn::Json body = ibm().instances.begin()->second.body;
  EXPECT_EQ(body.at("keys").dump(), R"([{"id":"k-ci"}])");
  EXPECT_EQ(body.at("user_data"), "#!/bin/sh");
  EXPECT_EQ(body.at("image").at("id"), "img-debian");
  EXPECT_EQ(body.at("boot_volume_attachment").at("volume").at("name"), "np" + node.id);
  EXPECT_EQ(body.at("boot_volume_attachment").at("delete_volume_on_instance_delete"), true);
}

TEST_P(IbmVpcContract, a_floating_ip_comes_and_goes_with_its_machine) {
  fixture().has_floating_ips = true;
  const Node node = launch_new();
  EXPECT_THAT(*node.public_ipv4, HasSubstr("192.0.2."));
  EXPECT_EQ(node.interface_ip, node.public_ipv4);
  ASSERT_THAT(ibm().floating_ips, SizeIs(1));
  EXPECT_EQ(ibm().floating_ips.begin()->second.name, "np" + node.id);
  EXPECT_EQ(ibm().floating_ips.begin()->second.group, "np_fake-contract_main");
  reclaim(node.id);
  ibm().settle();
  EXPECT_THAT(ibm().floating_ips, IsEmpty());
}

TEST_P(IbmVpcContract, a_floating_ip_with_a_lost_response_is_found) {
  fixture().has_floating_ips = true;
  ibm().fail("POST floating_ips", {{.status = -1}});
  launch_new();
  EXPECT_THAT(ibm().floating_ips, SizeIs(1));
  ibm().fail("POST floating_ips", {{.status = 400, .code = "over_quota"}});
  EXPECT_EQ(fail_to_launch().error.kind(), driver::LaunchError::Kind::quota);
}

TEST_P(IbmVpcContract, a_leaked_machine_is_deleted_with_its_floating_ip) {
  cloud_->add_machine(owner_tags(kProvider, "0000009999"));
  const std::string id = ibm().instances.begin()->first;
  ibm().floating_ips["f-1"] = {
      .name = "np0000009999", .group = "np_fake-contract_main", .target = "nic-" + id, .made = {}};
  ibm().floating_ips["f-2"] = {
      .name = "mine", .group = "Default", .target = "nic-" + id, .made = {}};
  start();
  for (int look = 0; look < 3; ++look) process_->run(provider().launching()->remove_leaks());
  process_->pass(std::chrono::minutes(1));
  ibm().settle();
  EXPECT_THAT(ibm().instances, IsEmpty());
  EXPECT_FALSE(ibm().floating_ips.contains("f-1"));
  EXPECT_TRUE(ibm().floating_ips.contains("f-2"));
}

TEST_P(IbmVpcContract, a_floating_ip_of_an_unknown_installation_is_shown_and_stays) {
  ibm().floating_ips["f-1"] = {
      .name = "np0000009999", .group = "np_fake-contract_main", .target = "nic-gone", .made = {}};
  start();
  for (int look = 0; look < 3; ++look) process_->run(provider().launching()->remove_leaks());
  const std::vector<driver::Leak> leaks = process_->run(provider().launching()->leaks());
  ASSERT_THAT(leaks, SizeIs(1));
  EXPECT_EQ(leaks[0].type, "floatingip");
  EXPECT_THAT(ibm().floating_ips, SizeIs(1));
}

TEST_P(IbmVpcContract, a_machine_is_kept_though_what_it_takes_cannot_be_read) {
  const std::string id = add_node();
  auto job = start().launch(id);
  while (ibm().count("POST instances") < 1) ASSERT_TRUE(process_->step());
  ibm().fail("GET instance", std::vector<StandIn::Failure>(100 * kAttempts));
  const auto asked = ibm().count("GET instance");
  EXPECT_EQ(finish(start().launch(id))->failure(), "");  // the new launcher has not read it yet
  EXPECT_GT(ibm().count("GET instance"), asked);
  expect_one_machine(id);
  EXPECT_EQ(ibm().count("POST instances"), 1U);
}

TEST_P(IbmVpcContract, the_resource_group_of_a_pool_is_made_once) {
  launch_new();
  launch_new();
  EXPECT_EQ(ibm().count("POST resource_groups"), 1U);
  EXPECT_TRUE(ibm().groups.contains("np_fake-contract_main"));
}

TEST_P(IbmVpcContract, two_launchers_may_make_the_resource_group_at_the_same_time) {
  ibm().fail("POST resource_groups", {{.status = -1}});
  expect_one_machine(launch_new().id);
}

TEST_P(IbmVpcContract, a_floating_ip_that_outlasts_its_machine_is_waited_for) {
  fixture().has_floating_ips = true;
  const Node node = launch_new();
  ibm().ip_removal_time = std::chrono::minutes(1);
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::seconds(50));
  EXPECT_FALSE(job->ended);
  EXPECT_EQ(finish(job)->failure(), "");
  ibm().settle();
  EXPECT_THAT(ibm().floating_ips, IsEmpty());
}

// As of a launch that the Python Nodepool has begun.
TEST_P(IbmVpcContract, a_floating_ip_that_is_not_recorded_is_deleted) {
  fixture().has_floating_ips = true;
  Node node = launch_new();
  node.public_ipv4 = {};
  node.private_ipv4 = {};
  installation_.write(node);
  reclaim(node.id);
  ibm().settle();
  EXPECT_THAT(ibm().floating_ips, IsEmpty());
  EXPECT_THAT(machine_ids(), IsEmpty());
}

TEST_P(IbmVpcContract, a_floating_ip_that_was_begun_is_recorded_though_none_is_wanted_any_more) {
  fixture().has_floating_ips = true;
  const std::string id = add_node();
  start().launch(id);
  while (ibm().floating_ips.empty()) ASSERT_TRUE(process_->step());
  process_->pass(std::chrono::milliseconds(1));  // its id is recorded
  fixture().has_floating_ips = false;
  EXPECT_EQ(finish(start().launch(id))->failure(), "");
  EXPECT_THAT(node(id).public_ipv4.value_or(""), HasSubstr("192.0.2."));
  reclaim(id);
  ibm().settle();
  EXPECT_THAT(ibm().floating_ips, IsEmpty());
}

// --- names

// Ids in the last list may be of an instance that another launcher has replaced.
TEST_P(IbmVpcContract, a_machine_that_has_replaced_the_listed_one_is_deleted) {
  const Node node = launch_new();
  process_->pass(std::chrono::milliseconds(1));  // the last listing is older now
  StandIn::Instance other = ibm().instances.begin()->second;
  ibm().instances.clear();
  ibm().add_instance(std::move(other));
  const auto begun = installation_.clock.now();
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), IsEmpty());
  EXPECT_LT(installation_.clock.now() - begun, std::chrono::seconds(30));
}

TEST_P(IbmVpcContract, a_machine_that_lists_show_is_not_gone_though_its_deletion_does_not_find_it) {
  const Node node = launch_new();
  ibm().fail("DELETE instances/ID",
             std::vector<StandIn::Failure>(2, {.status = 404, .code = "not_found"}));
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::minutes(2));
  EXPECT_FALSE(job->ended);
  EXPECT_TRUE(is_recorded(node.id));
  ibm().instances.clear();
  EXPECT_EQ(finish(job)->failure(), "");
}

// The repeated call does not find the machine any more.
TEST_P(IbmVpcContract, a_deletion_whose_response_is_lost_does_not_wait_for_later_lists) {
  const Node node = launch_new();
  process_->pass(std::chrono::seconds(25));  // the last listing is too old to delete from
  ibm().operation_time = {};
  ibm().fail("DELETE instances/ID", {{.status = -1}});
  const auto begun = installation_.clock.now();
  reclaim(node.id);
  EXPECT_EQ(ibm().count("GET instances/ID"), 1U);
  EXPECT_THAT(machine_ids(), IsEmpty());
  EXPECT_LT(installation_.clock.now() - begun, std::chrono::seconds(30));
}

TEST_P(IbmVpcContract, a_machine_that_the_last_list_lacks_is_looked_for_in_another) {
  const Node node = launch_new();
  StandIn::Instance machine = ibm().instances.begin()->second;
  ibm().instances.clear();
  process_->pass(std::chrono::seconds(3));
  process_->run(provider().available());  // lists no machine
  ibm().add_instance(std::move(machine));
  process_->pass(std::chrono::milliseconds(1));
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::seconds(1));
  EXPECT_EQ(ibm().count("DELETE instances/ID"), 1U) << "without waiting for later lists";
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(machine_ids(), IsEmpty());
}

// Names of machines are those of nodes.
TEST_P(IbmVpcContract, a_machine_of_another_installation_with_the_same_name_stays) {
  const std::string id = add_node();
  driver::Metadata of_another = owner_tags(kProvider, id);
  of_another[std::string(driver::kInstallationIdKey)] = "another-installation";
  const std::string group = ibmvpc::group_name(kProvider, kPool);
  ibm().add_instance({.name = "np" + id,
                      .group = group,
                      .boot_disk_name = ibmvpc::boot_disk_name(of_another),
                      .made = {}});
  ibm().floating_ips["f-1"] = {.name = "np" + id, .group = group, .target = "nic-i-1", .made = {}};
  const auto job = finish(start().launch(id));
  EXPECT_THAT(job->failure(), HasSubstr("name_conflict"));
  reclaim(id);
  EXPECT_THAT(machine_ids(), SizeIs(1));
  EXPECT_THAT(ibm().floating_ips, SizeIs(1));
}

TEST_P(IbmVpcContract, what_cannot_be_deleted_while_it_is_made_is_deleted_later) {
  ibm().operation_time = std::chrono::seconds(60);
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(std::chrono::seconds(20));
  start();
  reclaim(id);
  EXPECT_THAT(machine_ids(), IsEmpty());
  EXPECT_GT(ibm().count("DELETE instances/ID"), 1U);
}

TEST_P(IbmVpcContract, a_machine_that_is_not_listed_yet_is_deleted_in_the_same_deletion) {
  const Node node = launch_new();
  process_->pass(std::chrono::seconds(25));  // the last listing is too old to delete from
  ibm().stale_instance_lists = 1;
  reclaim(node.id);
  EXPECT_EQ(ibm().stale_instance_lists, 0U);
  EXPECT_THAT(machine_ids(), IsEmpty());
}

TEST_P(IbmVpcContract, a_machine_that_no_listing_shows_is_deleted_when_it_is_not_found) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(10));
  ibm().operation_time = std::chrono::minutes(5);
  const auto job = process_->reclaim(node.id);
  while (ibm().count("DELETE instances/ID") < 1) ASSERT_TRUE(process_->step());
  ibm().stale_instance_lists = 1000;
  process_->pass(std::chrono::minutes(2));
  EXPECT_FALSE(job->ended) << "it is being deleted";
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(machine_ids(), IsEmpty());
}

TEST_P(IbmVpcContract, a_machine_that_listings_omit_is_waited_for_while_it_is_found) {
  ibm().stale_instance_lists = 1000;
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(std::chrono::minutes(2));
  ibm().stale_instance_lists = 0;
  EXPECT_EQ(finish(job)->failure(), "");
  expect_one_machine(id);
  EXPECT_EQ(ibm().count("POST instances"), 1U);
}

// As at an endpoint of something else.
TEST_P(IbmVpcContract, a_machine_is_not_gone_because_its_list_does_not_exist) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(1));
  ibm().fail("GET instances",
             std::vector<StandIn::Failure>(10, {.status = 404, .code = "not_found"}));
  EXPECT_THAT(finish(process_->reclaim(node.id))->failure(), HasSubstr("HTTP 404"));
  EXPECT_TRUE(is_recorded(node.id));
  EXPECT_THAT(machines_of(node.id), SizeIs(1));
}

TEST_P(IbmVpcContract, all_pages_are_listed) {
  ibm().page = 2;
  for (int i = 0; i < 5; ++i) cloud_->add_machine({});
  expect_one_machine(launch_new().id);
  const driver::Limits available = process_->run(provider().available());
  EXPECT_EQ(available.at("instances"), 100 - 5);
}

TEST_P(IbmVpcContract, a_label_without_its_image_is_declined) {
  ibm().images.clear();
  start();
  process_->run(provider().available());
  EXPECT_THAT(provider().offer()->label(kPool, kLabel).problem,
              HasSubstr("there is no image `debian`"));
}

TEST_P(IbmVpcContract, what_the_configuration_names_and_the_cloud_lacks_is_reported) {
  start();
  EXPECT_THAT(process_->run(provider().missing_in_cloud()), IsEmpty());
  ibm().keys.clear();
  process_->pass(std::chrono::minutes(6));
  EXPECT_THAT(process_->run(provider().missing_in_cloud()),
              ElementsAre("pool main, label small: there is no SSH key `ci`"));
  process_->run(provider().available());
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).problem, "there is no SSH key `ci`");
}

TEST_P(IbmVpcContract, a_token_serves_many_calls_and_is_renewed_before_it_expires) {
  launch_new();
  launch_new();
  EXPECT_EQ(ibm().count("POST token"), 1U);
  process_->pass(std::chrono::minutes(58));
  launch_new();
  EXPECT_EQ(ibm().count("POST token"), 2U);
  ibm().expire_tokens();
  launch_new();
  EXPECT_EQ(ibm().count("POST token"), 3U);
}

}  // namespace nodepool::drivers::contract
