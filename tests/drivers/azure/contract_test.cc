// The contract of all drivers that make machines, on a stand-in of the APIs.

#include "driver/ownership.h"
#include "drivers/azure/names.h"
#include "tests/drivers/azure/azure_fixture.h"

namespace nodepool::drivers::contract {
namespace {

using azure::StandIn;
using model::Node;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Machines are told apart by their names, as in what the driver says.
class NameFixture final : public AzureFixture {
 public:
  using AzureFixture::AzureFixture;

 private:
  std::string id_of(const StandIn::Resource& machine) const override { return machine.name; }
};

// All answers take a while.
class SlowFixture final : public AzureFixture {
 public:
  explicit SlowFixture(harness::Installation& installation) : AzureFixture(installation) {
    cloud().latency = std::chrono::milliseconds(500);
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(azure, DriverContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, DeathContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, QuotaContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, EndContract, testing::Values(backend<NameFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, ImageContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, WireContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DriverContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, WireContract, testing::Values(backend<SlowFixture>()));

INSTANTIATE_TEST_SUITE_P(azure, AzureContract, testing::Values(backend<AzureFixture>()));

// The contract counts machines only.
class AzureDeathContract : public DeathContract {
 protected:
  // Azure deletes them after the machine.
  std::size_t count_of_parts() {
    process_->pass(std::chrono::seconds(10));
    StandIn& azure = static_cast<AzureFixture&>(*cloud_).cloud();
    return azure.all("networkInterfaces").size() + azure.all("publicIPAddresses").size() +
           azure.all("disks").size();
  }
};

INSTANTIATE_TEST_SUITE_P(azure, AzureDeathContract, testing::Values(backend<AzureFixture>()));

TEST_P(AzureDeathContract, parts_left_by_a_death_anywhere_are_reclaimed) {
  at_each_moment([this] {
    const std::string id = add_node();
    run(*start().launch(id));
    start();
    reclaim(id);
    EXPECT_EQ(count_of_parts(), 0U);
  });
}

TEST_P(AzureDeathContract, parts_of_a_deletion_go_after_a_death_anywhere) {
  at_each_moment([this] {
    const std::string id = launch_new().id;
    run(*process_->reclaim(id));
    start();
    if (is_recorded(id)) reclaim(id);
    EXPECT_EQ(count_of_parts(), 0U);
  });
}

TEST_P(AzureContract, a_machine_is_kept_though_what_it_takes_cannot_be_read) {
  const std::string id = add_node();
  auto job = start().launch(id);
  while (azure().count("PUT virtualMachines/NAME") < 1) ASSERT_TRUE(process_->step());
  azure().fail("GET skus", std::vector<StandIn::Failure>(100 * kAttempts));
  const auto asked = azure().count("GET skus");
  EXPECT_EQ(finish(start().launch(id))->failure(), "");  // the new launcher has not read it yet
  EXPECT_GT(azure().count("GET skus"), asked);
  expect_one_machine(id);
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 1U);
}

TEST_P(AzureContract, machines_are_listed_while_their_sizes_cannot_be_read) {
  launch_new();
  start();  // knows no size yet
  azure().fail("GET skus", std::vector<StandIn::Failure>(100 * kAttempts));
  const auto asked = azure().count("GET skus");
  EXPECT_NO_THROW(process_->run(provider().launching()->leaks()));
  EXPECT_GT(azure().count("GET skus"), asked);
}

TEST_P(AzureContract, a_node_has_the_addresses_of_its_machine) {
  const Node node = launch_new();
  EXPECT_EQ(node.external_id_text(), "np" + node.id);
  EXPECT_EQ(node.cloud, "Azure");
  EXPECT_EQ(node.region, "l");
  EXPECT_EQ(node.az, "");
  EXPECT_THAT(*node.public_ipv4, HasSubstr("192.0.2."));
  EXPECT_THAT(*node.public_ipv6, HasSubstr("2001:db8::"));
  EXPECT_THAT(*node.private_ipv4, HasSubstr("10.0.0."));
  EXPECT_EQ(node.interface_ip, node.public_ipv4);
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(driver::Resources::parse(node.resources),
            driver::Resources(
                {{"instances", 1}, {"cores", 2}, {"ram", 8192}, {"standardDSv3Family", 2}}));
}

TEST_P(AzureContract, a_machine_that_is_not_found_yet_is_deleted_in_the_same_deletion) {
  const Node node = launch_new();
  azure().fail("DELETE virtualMachines/NAME", {{.status = 404, .code = "ResourceNotFound"}});
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), IsEmpty());
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 2U);
}

TEST_P(AzureContract, a_machine_that_no_list_shows_is_deleted_when_it_is_not_found) {
  const Node node = launch_new();
  azure().operation_time = std::chrono::minutes(5);
  azure().lists_machines = false;
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::minutes(2));
  EXPECT_FALSE(job->ended) << "it is being deleted";
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(machine_ids(), IsEmpty());
}

TEST_P(AzureContract, a_machine_that_lists_omit_is_waited_for_while_it_is_found) {
  azure().lists_machines = false;
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(std::chrono::minutes(2));
  azure().lists_machines = true;
  EXPECT_EQ(finish(job)->failure(), "");
  expect_one_machine(id);
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 1U);
}

// As at an endpoint of something else.
TEST_P(AzureContract, a_machine_is_not_gone_because_its_list_does_not_exist) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(1));
  azure().fail("GET virtualMachines",
               std::vector<StandIn::Failure>(10, {.status = 404, .code = "NotFound"}));
  EXPECT_THAT(finish(process_->reclaim(node.id))->failure(), HasSubstr("HTTP 404"));
  EXPECT_TRUE(is_recorded(node.id));
  EXPECT_THAT(machines_of(node.id), SizeIs(1));
}

// As Azure makes an address later than a machine's interface, and may refuse it then.
TEST_P(AzureContract, an_address_is_awaited) {
  azure().address_time = std::chrono::seconds(40);
  EXPECT_THAT(*launch_new().public_ipv4, HasSubstr("192.0.2."));
}

// Their names say whose they are: they have no tags.
TEST_P(AzureContract, leaked_parts_are_deleted) {
  const std::string own = azure::owner_mark({.id = harness::kInstallationId}, kProvider);
  const std::string other = azure::owner_mark({.id = harness::kInstallationId}, "other");
  const auto add = [this](const char* type, const std::string& mark, const char* end) {
    azure().add(type, "np0000009999-" + mark + end,
                {{"properties", {{"ipConfigurations", StandIn::Json::array()}}}});
  };
  add("publicIPAddresses", own, "-1-v4-ip-5f3a");
  add("networkInterfaces", own, "-2-nic");
  add("disks", own, "-1-disk");
  add("disks", other, "-1-disk");
  azure().add("disks", "np0000009999-disk", {{"properties", {{"diskState", "Unattached"}}}});
  start();
  process_->run(provider().launching()->remove_leaks());
  EXPECT_EQ(count_of_all(), 5U);
  process_->pass(std::chrono::minutes(1));
  process_->run(provider().launching()->remove_leaks());
  EXPECT_EQ(count_of_all(), 2U);
}

// One after the other: no deletion is refused because of another resource.
TEST_P(AzureContract, all_parts_that_azure_leaves_behind_are_deleted) {
  const Node lost = launch_new();
  const Node reclaimed = launch_new();
  installation_.remove_node(lost.id);
  azure().lacks_cascade = true;
  reclaim(reclaimed.id);
  for (int look = 0; look < 6; ++look) {
    process_->run(provider().launching()->remove_leaks());
    process_->pass(std::chrono::minutes(1));
  }
  EXPECT_EQ(count_of_all(), 0U);
}

TEST_P(AzureContract, the_parts_of_nodes_are_no_leaks) {
  launch_new();
  for (int look = 0; look < 3; ++look) {
    process_->run(provider().launching()->remove_leaks());
    process_->pass(std::chrono::minutes(1));
  }
  EXPECT_EQ(count_of_all(), 5U);
}

TEST_P(AzureContract, machines_that_have_been_switched_off_are_noticed) {
  const Node node = launch_new();
  EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
  azure().find("virtualMachines", "np" + node.id)->power = "deallocated";
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(process_->run(provider().terminated()),
              testing::ElementsAre(
                  testing::Pair(node.id, "virtual machine np" + node.id + " is deallocated")));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
}

// It is for the whole subscription, and asked for again after an hour.
TEST_P(AzureContract, without_the_permission_for_states_machines_count_as_running) {
  const char* const kStates = "GET virtualMachines?statusOnly";
  azure().fail(kStates, {{.status = 403, .code = "AuthorizationFailed"}});
  const Node node = launch_new();
  azure().find("virtualMachines", "np" + node.id)->power = "stopped";
  for (int look = 0; look < 3; ++look) {
    process_->pass(std::chrono::minutes(1));
    EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
  }
  EXPECT_EQ(azure().count(kStates), 1U);
  process_->pass(std::chrono::hours(1));
  EXPECT_THAT(process_->run(provider().terminated()), SizeIs(1));
}

TEST_P(AzureContract, while_states_cannot_be_read_machines_count_as_running) {
  const Node node = launch_new();
  azure().find("virtualMachines", "np" + node.id)->power = "stopped";
  azure().fail("GET virtualMachines?statusOnly", std::vector<StandIn::Failure>(kAttempts));
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(process_->run(provider().terminated()), SizeIs(1));
}

TEST_P(AzureContract, what_others_use_of_the_quota_is_not_available) {
  azure().others = 30;
  start();
  EXPECT_EQ(process_->run(provider().available()).at("instances"), 70);
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(5));
  const driver::Limits available = process_->run(provider().available());
  EXPECT_EQ(available.at("instances"), 70) << "less the node, whose record counts";
  EXPECT_EQ(available.at("cores"), 140);
  EXPECT_EQ(available.at("standardDSv3Family"), 140);
}

TEST_P(AzureContract, a_machine_that_another_installation_has_just_made_stays) {
  const Node node = launch_new();
  const std::string name = "np" + node.id;
  azure().find("virtualMachines", name)->deleted = installation_.clock.now();
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id))) << "it is in no listing";
  driver::Metadata of_another = owner_tags(kProvider, node.id);
  of_another[std::string(driver::kInstallationIdKey)] = "another-installation";
  azure().add("virtualMachines", name, {{"tags", of_another}});
  reclaim(node.id);
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 0U);
  EXPECT_THAT(machine_ids(), SizeIs(1));
}

TEST_P(AzureContract, the_reason_of_a_failure_is_known) {
  cloud_->provoke(Trouble::no_capacity, 3);
  EXPECT_THAT(fail_to_launch().error.what(), HasSubstr("AllocationFailed: as the test wants it"));
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 3U) << "one for each attempt";
  launch_new();
  EXPECT_EQ(azure().count("GET operations"), 3U) << "none for a launch that goes well";
}

TEST_P(AzureContract, the_resource_group_is_made_and_not_while_it_is_being_deleted) {
  azure().has_group = false;
  const Node node = launch_new();
  EXPECT_EQ(azure().count("PUT resourceGroups/NAME"), 1U);
  launch_new();
  EXPECT_EQ(azure().count("GET resourceGroups/NAME"), 1U);
  EXPECT_TRUE(is_recorded(node.id));
  start();
  azure().group_state = "Deleting";
  EXPECT_THAT(fail_to_launch().error.what(), HasSubstr("resource group rg is being deleted"));
}

// Names of machines are those of nodes. Azure refuses to change a machine to another one.
TEST_P(AzureContract, a_machine_of_another_installation_with_the_same_name_stays) {
  const std::string id = add_node();
  driver::Metadata of_another = owner_tags(kProvider, id);
  of_another[std::string(driver::kInstallationIdKey)] = "another-installation";
  azure().add("virtualMachines", "np" + id, {{"tags", of_another}});
  const auto job = finish(start().launch(id));
  EXPECT_THAT(job->failure(), HasSubstr("exists, and was not made for this attempt"));
  reclaim(id);
  EXPECT_THAT(machine_ids(), SizeIs(1));
  EXPECT_EQ(count_of_all(), 1U);
}

// Azure may refuse a repeated call so.
TEST_P(AzureContract, a_machine_that_a_call_with_unknown_outcome_has_made_is_found) {
  azure().fail("PUT virtualMachines/NAME",
               {{.status = -503}, {.status = 409, .code = "PropertyChangeNotAllowed"}});
  expect_one_machine(launch_new().id);
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 2U);
  EXPECT_THAT(installation_.accounts, SizeIs(1)) << "no other attempt";
}

TEST_P(AzureContract, a_password_is_in_no_record) {
  const Node node = launch_new();
  const StandIn::Json body =
      StandIn::Json::parse(azure().calls("PUT virtualMachines/NAME").at(0).body);
  const std::string password = body["properties"]["osProfile"]["adminPassword"];
  EXPECT_THAT(password, SizeIs(64));
  EXPECT_THAT(password, testing::ContainsRegex("[a-z]"));
  EXPECT_THAT(password, testing::ContainsRegex("[A-Z]"));
  EXPECT_THAT(password, testing::ContainsRegex("[0-9]"));
  EXPECT_THAT(node.driver_data.text, testing::Not(HasSubstr(password)));
  EXPECT_FALSE(
      body["properties"]["osProfile"]["linuxConfiguration"]["disablePasswordAuthentication"]
          .get<bool>());
}

TEST_P(AzureContract, all_pages_are_listed) {
  azure().page = 2;
  for (int i = 0; i < 5; ++i) cloud_->add_machine({});
  expect_one_machine(launch_new().id);
  const driver::Limits available = process_->run(provider().available());
  EXPECT_EQ(available.at("instances"), 100 - 5);
}

TEST_P(AzureContract, a_size_that_is_offered_now_is_noticed) {
  azure().offers_size = false;
  start();
  process_->run(provider().available());
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).problem,
            "location l does not offer the subscription size standard_d2s_v3");
  azure().offers_size = true;
  process_->pass(std::chrono::minutes(6));
  process_->run(provider().available());
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).problem, "");
}

// Azure may not know the location by this name.
TEST_P(AzureContract, a_location_without_sizes_declines_no_label) {
  azure().has_size = false;
  start();
  const auto job = finish(process_->begin(read_available()));
  EXPECT_THAT(job->failure(), HasSubstr("there are none in location l"));
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).problem, "");
}

TEST_P(AzureContract, what_the_configuration_names_and_the_cloud_lacks_is_reported) {
  start();
  EXPECT_THAT(process_->run(provider().missing_in_cloud()), IsEmpty());
}

// Azure tells how many calls it will still accept.
TEST_P(AzureContract, calls_slow_down_before_azure_refuses_them) {
  start();
  const auto begun = installation_.clock.now();
  launch_new();
  const auto usual = installation_.clock.now() - begun;
  azure().headers = "x-ms-ratelimit-remaining-subscription-writes: 4\r\n";
  const auto again = installation_.clock.now();
  launch_new();
  EXPECT_GT(installation_.clock.now() - again, usual + std::chrono::seconds(10));
}

TEST_P(AzureContract, a_token_serves_many_calls_and_is_renewed) {
  launch_new();
  launch_new();
  EXPECT_EQ(azure().count("POST token"), 1U);
  process_->pass(std::chrono::minutes(58));
  launch_new();
  EXPECT_EQ(azure().count("POST token"), 2U);
  azure().expire_tokens();
  launch_new();
  EXPECT_EQ(azure().count("POST token"), 3U);
}

}  // namespace nodepool::drivers::contract
