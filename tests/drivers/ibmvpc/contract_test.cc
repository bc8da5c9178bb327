// The contract of all drivers that make machines, on a stand-in of the APIs.

#include "tests/drivers/contract/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "async/live_tasks.h"
#include "driver/ownership.h"
#include "drivers/ibmvpc/ibmvpc_driver.h"
#include "drivers/ibmvpc/image_names.h"
#include "drivers/ibmvpc/owner_names.h"
#include "tests/drivers/ibmvpc/stand_in/stand_in.h"

namespace nodepool::drivers::contract {
namespace {

using ibmvpc::StandIn;
using model::Node;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kConfiguration = R"(
diskimages: [{{name: trixie, username: ci}}]
labels: [{{name: small}}, {{name: built}}]
providers:
  - name: fake-contract
    driver: ibmvpc
    vpc: net
    region: north
    zone: north-1
    subnet: inner
    rate: 0
    launch-timeout: 900
    public-ipv4: {}
    host-key-checking: false
    quota: {{instances: {}}}
    object-storage: {{instance-name: any, endpoint: "{}", bucket-name: ci-images}}
    diskimages: [{{name: trixie, operating-system: debian-12-amd64}}]
    cloud-images:
      - {{name: debian, image-name: debian, username: ci, keys: [ci]}}
    pools:
      - name: main
        max-servers: 100
        labels:
          - {{name: small, cloud-image: debian, profile: bx2-2x8, user-data: "#!/bin/sh"}}
          - {{name: built, diskimage: trixie, profile: bx2-2x8}}
)";

// How often a call is made until it has failed for the driver.
constexpr std::size_t kAttempts = 4;

class IbmVpcFixture : public CloudFixture {
 public:
  explicit IbmVpcFixture(harness::Installation& installation)
      : runtime_{loop_.executor(), installation.clock, installation.random}, cloud_(runtime_) {}

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    const ibmvpc::IbmVpcDriver driver({{"VPC_APIKEY", "key/of test"},
                                       {"VPC_AUTH_URL", cloud_.url()},
                                       {"VPC_URL", cloud_.url() + "/v1"},
                                       {"RESOURCE_MANAGER_URL", cloud_.url()}});
    launcher_ = context.runtime.executor;
    const std::string text =
        fmt::format(kConfiguration, has_floating_ips, cloud_.capacity, cloud_.url());
    return driver.provider(read_provider(driver, text), std::move(context));
  }

  // Names are used again, ids are not.
  std::string machine_of(const Node& node) override {
    for (const auto& [id, instance] : cloud_.instances) {
      if (instance.name == node.external_id_text()) return id;
    }
    return {};
  }

  std::string image_name(const std::string& /*name*/, const driver::Metadata& metadata) override {
    return ibmvpc::image_name(metadata);
  }

  // Floating IPs without an instance count as machines, so that the suite finds them.
  std::vector<Machine> machines() override {
    cloud_.settle();
    std::vector<Machine> all;
    std::set<std::string> names;
    for (const auto& [id, instance] : cloud_.instances) {
      names.insert(instance.name);
      all.push_back(
          {id, ibmvpc::owner_tags(instance.name, instance.group, instance.boot_disk_name)});
    }
    for (const auto& [id, ip] : cloud_.floating_ips) {
      if (!names.contains(ip.name)) all.push_back({id, ibmvpc::owner_tags(ip.name, ip.group, "")});
    }
    return all;
  }

  void provoke(Trouble trouble, std::size_t times) override {
    using Failure = StandIn::Failure;
    const auto fail = [&](const char* call, std::size_t calls, const Failure& failure) {
      cloud_.fail(call, std::vector<Failure>(calls, failure));
    };
    const Failure bad_request{.status = 400, .code = "bad_request"};
    switch (trouble) {
      case Trouble::quota:
        return fail("POST instances", times, {.status = 400, .code = "over_quota"});
      case Trouble::no_capacity:
        cloud_.reasons.assign(times, "cannot_start_capacity");
        return;
      case Trouble::creation_error:
        return fail("POST instances", times, bad_request);
      case Trouble::broken_machine:
        cloud_.reasons.assign(times, "cannot_start_compute");
        return;
      case Trouble::response_lost:
        return fail("POST instances", times, {.status = -1});
      case Trouble::request_lost:
        return fail("POST instances", times, {.status = 0});
      case Trouble::deletion_error:
        return fail("DELETE instances/ID", times, bad_request);
      case Trouble::listing_error:
        return fail("GET instances", times * kAttempts, {.status = 503});
      case Trouble::listing_failed:
        return fail("GET instances", times, bad_request);
      case Trouble::limits_error:  // they are configured
        return;
      case Trouble::image_error:
        return fail("POST images", times, bad_request);
      case Trouble::busy:
        return provoke_busy(times);
      case Trouble::token_expired:
        return cloud_.fail_any(
            std::vector<Failure>(times, {.status = 401, .code = "not_authorized"}));
    }
  }

  void set_boot_time(async::Duration time) override { cloud_.boot_time = time; }
  void set_capacity(std::size_t machines) override { cloud_.capacity = machines; }

  void add_machine(driver::Metadata metadata) override {
    const std::string provider = driver::value_of(metadata, driver::kProviderNameKey);
    const std::string installation = driver::value_of(metadata, driver::kInstallationIdKey);
    StandIn::Instance machine{.name = "other-" + std::to_string(++others_),
                              .group = "Default",
                              .boot_disk_name = ibmvpc::boot_disk_name(metadata),
                              .made = {}};
    if (!provider.empty()) machine.group = ibmvpc::group_name(provider, kPool);
    // Two machines cannot have the name of one node: "np01" is the machine of node 1, elsewhere.
    const bool is_ours = installation == harness::kInstallationId;
    if (provider == kProvider) {
      machine.name = (is_ours ? "np" : "np0") + driver::value_of(metadata, driver::kNodeIdKey);
    }
    cloud_.add_instance(std::move(machine));
  }

  void end_machine(const std::string& id) override { cloud_.instances.at(id).status = "stopped"; }

  // The wire is silent when every call that waits for an answer is one that the cloud holds back.
  bool wait_for_wire() override {
    const bool cloud_ran = loop_.poll();
    const auto tasks = async::live_tasks(launcher_);
    const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits_for_answer));
    return cloud_ran || calls > cloud_.held_back();
  }

  StandIn& cloud() { return cloud_; }

  bool has_floating_ips = false;

 private:
  static bool waits_for_answer(const async::LiveTask& task) {
    return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
      return wait.what.starts_with("http:");
    });
  }

  void provoke_busy(std::size_t times) {
    const std::vector<StandIn::Failure> kinds = {
        {.status = 429, .code = "too_many_requests", .headers = "Retry-After: 1\r\n"},
        {.status = 503, .headers = "Retry-After: 1\r\n"}};
    std::vector<StandIn::Failure> failures;
    for (std::size_t i = 0; i < times; ++i) failures.push_back(kinds[i % kinds.size()]);
    cloud_.fail_any(failures);
  }

  async::EventLoop loop_;
  async::Runtime runtime_;
  StandIn cloud_;
  async::Executor launcher_;
  int others_ = 0;
};

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

// What IBM Cloud alone does.
class IbmVpcContract : public DriverContract {
 protected:
  IbmVpcFixture& fixture() { return static_cast<IbmVpcFixture&>(*cloud_); }
  StandIn& ibm() { return fixture().cloud(); }
};

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

// --- the calls of a node

TEST_P(IbmVpcContract, a_node_without_a_floating_ip_takes_five_calls) {
  ibm().operation_time = {};
  reclaim(launch_new().id);  // reads names, makes the resource group, learns the times
  const auto before = ibm().count();
  const auto floating_ip_lists = ibm().count("GET floating_ips");
  reclaim(launch_new().id);
  EXPECT_EQ(ibm().count() - before, 5U) << "create, list, delete, list, get";
  EXPECT_EQ(ibm().count("GET floating_ips"), floating_ip_lists);
}

TEST_P(IbmVpcContract, a_deletion_that_a_list_has_shown_needs_no_further_call) {
  ibm().operation_time = std::chrono::seconds(10);
  const Node node = launch_new();
  reclaim(node.id);
  EXPECT_EQ(ibm().count("DELETE instances/ID"), 1U);
  EXPECT_EQ(ibm().count("GET instances/ID"), 0U);
}

TEST_P(IbmVpcContract, the_end_of_a_floating_ip_takes_one_call) {
  fixture().has_floating_ips = true;
  const Node node = launch_new();
  process_->pass(std::chrono::milliseconds(1));  // the last listing is older now
  const auto before = ibm().count("GET floating_ips");
  reclaim(node.id);
  EXPECT_EQ(ibm().count("GET floating_ips") - before, 1U) << "finds it by name";
  EXPECT_EQ(ibm().count("GET floating_ips/ID"), 1U);
  EXPECT_THAT(ibm().floating_ips, IsEmpty());
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
  StandIn::Instance other = ibm().instances.begin()->second;
  ibm().instances.clear();
  ibm().add_instance(std::move(other));
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), IsEmpty());
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
