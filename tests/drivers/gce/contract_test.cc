// The contract of all drivers that make machines, on a stand-in of the APIs.

#include "tests/drivers/contract/contract.h"

#include <algorithm>

#include "async/live_tasks.h"
#include "driver/ownership.h"
#include "drivers/gce/gce_driver.h"
#include "tests/drivers/gce/stand_in/stand_in.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::contract {
namespace {

using gce::StandIn;
using model::Node;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kConfiguration = R"(
labels: [{name: small}]
providers:
  - name: fake-contract
    driver: gce
    project: p
    region: north-1
    zone: north-1-a
    rate: 0
    launch-timeout: 900
    cloud-images:
      - {name: debian, image-project: debian-cloud, image-family: debian-12, username: ci, key: K}
    pools:
      - name: main
        host-key-checking: false
        labels: [{name: small, cloud-image: debian, instance-type: e2-small}]
)";

// How often a call is made until it has failed for the driver.
constexpr std::size_t kAttempts = 4;
// … where nobody knows whether it was carried out. A connection that has been used before is tried
// once more, by libcurl itself.
constexpr std::size_t kUnansweredAttempts = 3;

class GceFixture : public CloudFixture {
 public:
  explicit GceFixture(harness::Installation& installation)
      : runtime_{loop_.executor(), installation.clock, installation.random}, cloud_(runtime_) {}

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    const gce::GceDriver driver(
        {{"GOOGLE_APPLICATION_CREDENTIALS", directory_.write("key.json", cloud_.key_file())},
         {"CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", cloud_.url() + "/compute/v1/"}});
    launcher_ = context.runtime.executor;
    return driver.provider(read_provider(driver, kConfiguration), std::move(context));
  }

  // Names are used again, ids are not.
  std::string machine_of(const Node& node) override {
    const auto found = cloud_.instances.find(node.external_id_text());
    return found == cloud_.instances.end() ? "" : found->second.id;
  }

  std::vector<Machine> machines() override {
    cloud_.settle();
    std::vector<Machine> all;
    for (const auto& [name, instance] : cloud_.instances) {
      if (instance.has_failed) continue;
      driver::Metadata metadata;
      for (const auto& item : instance.body.at("metadata").at("items")) {
        metadata[item.at("key")] = item.at("value");
      }
      all.push_back({instance.id, std::move(metadata)});
    }
    return all;
  }

  void provoke(Trouble trouble, std::size_t times) override {
    using Failure = StandIn::Failure;
    const auto fail = [&](const char* call, std::size_t calls, const Failure& failure) {
      cloud_.fail(call, std::vector<Failure>(calls, failure));
    };
    const Failure bad_request{.status = 400, .reason = "invalid"};
    switch (trouble) {
      case Trouble::quota:
        cloud_.operation_errors.assign(times, "QUOTA_EXCEEDED");
        return;
      case Trouble::no_capacity:
        cloud_.operation_errors.assign(times, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS");
        return;
      case Trouble::creation_error:
        return fail("POST instances", times, bad_request);
      case Trouble::broken_machine:
        cloud_.broken = times;
        return;
      case Trouble::response_lost:
        return fail("POST instances", times * kUnansweredAttempts, {.status = -1});
      case Trouble::request_lost:
        return fail("POST instances", times * kUnansweredAttempts, {.status = 0});
      case Trouble::deletion_error:
        return fail("DELETE instances/NAME", times, bad_request);
      case Trouble::listing_error:
        return fail("GET instances", times * kAttempts, {.status = 503});
      case Trouble::listing_failed:
        return fail("GET instances", times, bad_request);
      case Trouble::limits_error:
        return fail("GET regions/NAME", times * kAttempts, {.status = 503});
      case Trouble::image_error:
        return;
      case Trouble::busy:
        return provoke_busy(times);
      case Trouble::token_expired:
        return cloud_.fail_any(std::vector<Failure>(times, {.status = 401, .reason = "authError"}));
    }
  }

  void set_boot_time(async::Duration time) override { cloud_.boot_time = time; }
  void set_capacity(std::size_t machines) override { cloud_.capacity = machines; }
  // Only machines of this installation have the names of its nodes.
  void add_machine(driver::Metadata metadata) override {
    const bool is_ours =
        driver::value_of(metadata, driver::kProviderNameKey) == kProvider &&
        driver::value_of(metadata, driver::kInstallationIdKey) == harness::kInstallationId;
    const std::string name = is_ours ? "np" + driver::value_of(metadata, driver::kNodeIdKey)
                                     : "other-" + std::to_string(++others_);
    cloud_.add_instance(name, {metadata.begin(), metadata.end()});
  }
  void end_machine(const std::string& id) override {
    for (auto& [name, instance] : cloud_.instances) {
      if (instance.id == id) instance.status = "TERMINATED";
    }
  }

  // The wire is silent when every call that waits for an answer is one that the cloud holds back.
  bool wait_for_wire() override {
    const bool cloud_ran = loop_.poll();
    const auto tasks = async::live_tasks(launcher_);
    const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits_for_answer));
    return cloud_ran || calls > cloud_.held_back();
  }

  StandIn& cloud() { return cloud_; }

 private:
  static bool waits_for_answer(const async::LiveTask& task) {
    return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
      return wait.what.starts_with("http:");
    });
  }

  void provoke_busy(std::size_t times) {
    const std::vector<StandIn::Failure> kinds = {{.status = 403, .reason = "rateLimitExceeded"},
                                                 {.status = 503, .headers = "Retry-After: 1\r\n"},
                                                 {.status = 429, .headers = "Retry-After: 1\r\n"}};
    std::vector<StandIn::Failure> failures;
    for (std::size_t i = 0; i < times; ++i) failures.push_back(kinds[i % kinds.size()]);
    cloud_.fail_any(failures);
  }

  async::EventLoop loop_;
  async::Runtime runtime_;
  StandIn cloud_;
  test_support::TemporaryDirectory directory_;
  async::Executor launcher_;
  int others_ = 0;
};

// All answers take a while.
class SlowFixture final : public GceFixture {
 public:
  explicit SlowFixture(harness::Installation& installation) : GceFixture(installation) {
    cloud().latency = std::chrono::milliseconds(1500);
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(gce, DriverContract, testing::Values(backend<GceFixture>()));
INSTANTIATE_TEST_SUITE_P(gce, DeathContract, testing::Values(backend<GceFixture>()));
INSTANTIATE_TEST_SUITE_P(gce, QuotaContract, testing::Values(backend<GceFixture>()));
INSTANTIATE_TEST_SUITE_P(gce, EndContract, testing::Values(backend<GceFixture>()));
INSTANTIATE_TEST_SUITE_P(gce, WireContract, testing::Values(backend<GceFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DriverContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DeathContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, WireContract, testing::Values(backend<SlowFixture>()));

// What Compute Engine alone does.
class GceContract : public DriverContract {
 protected:
  StandIn& gce() { return static_cast<GceFixture&>(*cloud_).cloud(); }

  void forbid_to_read_operations() {
    gce().fail("GET operations/NAME",
               std::vector<StandIn::Failure>(1000, {.status = 403, .reason = "forbidden"}));
  }

  std::set<std::string> request_ids() {
    std::set<std::string> ids;
    for (const auto& call : gce().calls("POST instances")) {
      ids.insert(call.target.substr(call.target.find("requestId=")));
    }
    return ids;
  }
};

INSTANTIATE_TEST_SUITE_P(gce, GceContract, testing::Values(backend<GceFixture>()));

TEST_P(GceContract, a_node_has_the_addresses_and_the_zone_of_its_machine) {
  const Node node = launch_new();
  EXPECT_EQ(node.external_id_text(), "np" + node.id);
  EXPECT_EQ(node.cloud, "Google");
  EXPECT_EQ(node.region, "north-1");
  EXPECT_EQ(node.az, "north-1-a");
  EXPECT_THAT(*node.public_ipv4, HasSubstr("192.0.2."));
  EXPECT_THAT(*node.private_ipv4, HasSubstr("10.0.0."));
  EXPECT_EQ(node.interface_ip, node.public_ipv4);
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(driver::Resources::parse(node.resources),
            driver::Resources({{"instances", 1}, {"cores", 2}, {"ram", 2048}, {"CPUS", 2}}));
}

TEST_P(GceContract, a_refused_operation_is_asked_only_once_and_makes_no_storm) {
  cloud_->provoke(Trouble::quota, 1);
  const Failed failed = fail_to_launch();
  EXPECT_EQ(failed.error.kind(), driver::LaunchError::Kind::quota);
  EXPECT_THAT(failed.error.what(), HasSubstr("QUOTA_EXCEEDED"));
  EXPECT_EQ(gce().count("POST instances"), 1U);
  EXPECT_EQ(gce().count("GET operations/NAME"), 1U);
  cloud_->provoke(Trouble::no_capacity, 3);
  EXPECT_THAT(fail_to_launch().error.what(), HasSubstr("ZONE_RESOURCE_POOL_EXHAUSTED"));
  EXPECT_EQ(gce().count("POST instances"), 4U) << "one for each attempt";
}

TEST_P(GceContract, a_refusal_is_known_though_the_response_was_lost) {
  gce().lists_failed = false;
  cloud_->provoke(Trouble::quota, 1);
  cloud_->provoke(Trouble::response_lost, 1);
  EXPECT_EQ(fail_to_launch().error.kind(), driver::LaunchError::Kind::quota);
  EXPECT_THAT(request_ids(), SizeIs(1));
}

TEST_P(GceContract, quotas_are_read_again_after_a_refusal) {
  start();
  process_->run(provider().available());
  gce().capacity = 0;
  fail_to_launch();
  EXPECT_EQ(process_->run(provider().available()).at("instances"), 0);
}

// Google counts all zones of the region.
TEST_P(GceContract, what_other_zones_use_of_the_quotas_is_not_available) {
  gce().others = 30;
  start();
  EXPECT_EQ(process_->run(provider().available()).at("instances"), 70);
  launch_new();
  process_->pass(std::chrono::minutes(5));
  const driver::Limits available = process_->run(provider().available());
  EXPECT_EQ(available.at("instances"), 70) << "less the node, whose record counts";
  EXPECT_EQ(available.at("CPUS"), 140);
}

TEST_P(GceContract, a_launch_that_goes_well_polls_no_operation) {
  launch_new();
  EXPECT_EQ(gce().count("GET operations/NAME"), 0U);
}

TEST_P(GceContract, a_launch_needs_no_permission_to_read_operations) {
  forbid_to_read_operations();
  const std::string id = add_node();
  const auto job = start().launch(id);
  while (gce().count("POST instances") < 1) ASSERT_TRUE(process_->step());
  gce().empty_lists = 3;
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_GT(gce().count("GET operations/NAME"), 0U);
  EXPECT_EQ(gce().count("POST instances"), 1U);
  expect_one_machine(id);
}

TEST_P(GceContract, without_that_permission_a_refused_creation_is_a_failed_attempt) {
  gce().lists_failed = false;
  forbid_to_read_operations();
  cloud_->provoke(Trouble::quota, 3);
  const Failed failed = fail_to_launch();
  EXPECT_EQ(failed.error.kind(), driver::LaunchError::Kind::failed);
  EXPECT_EQ(gce().count("POST instances"), 3U) << "one for each attempt";
}

TEST_P(GceContract, each_attempt_has_a_request_id_and_a_repeated_call_has_the_same) {
  cloud_->provoke(Trouble::response_lost, 1);
  launch_new();
  EXPECT_THAT(request_ids(), SizeIs(1));
  gce().broken = 1;
  launch_new();
  EXPECT_THAT(request_ids(), SizeIs(3));
}

TEST_P(GceContract, a_resumed_attempt_uses_the_same_request_id) {
  gce().fail("POST instances", {{.status = -1}, {.status = -1}, {.status = -1}});
  const std::string id = add_node();
  const auto job = start().launch(id);
  while (gce().count("POST instances") < 1) ASSERT_TRUE(process_->step());
  EXPECT_EQ(finish(start().launch(id))->failure(), "");
  expect_one_machine(id);
  EXPECT_THAT(request_ids(), SizeIs(1));
}

// Names of machines are those of nodes.
TEST_P(GceContract, a_machine_of_another_installation_with_the_same_name_stays) {
  const std::string id = add_node();
  driver::Metadata of_another = owner_tags(kProvider, id);
  of_another[std::string(driver::kInstallationIdKey)] = "another-installation";
  gce().add_instance("np" + id, {of_another.begin(), of_another.end()});
  const auto job = finish(start().launch(id));
  EXPECT_THAT(job->failure(), HasSubstr("alreadyExists"));
  reclaim(id);
  EXPECT_THAT(machine_ids(), SizeIs(1));
}

TEST_P(GceContract, a_machine_that_another_installation_has_just_made_stays) {
  const Node node = launch_new();
  const std::string name = "np" + node.id;
  gce().instances.erase(name);
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id))) << "it is in no listing";
  driver::Metadata of_another = owner_tags(kProvider, node.id);
  of_another[std::string(driver::kInstallationIdKey)] = "another-installation";
  gce().add_instance(name, {of_another.begin(), of_another.end()});
  process_->pass(std::chrono::milliseconds(1));  // the last listing is older now
  reclaim(node.id);
  EXPECT_EQ(gce().count("DELETE instances/NAME"), 0U);
  EXPECT_THAT(machine_ids(), SizeIs(1));
}

TEST_P(GceContract, all_pages_are_listed) {
  gce().page = 2;
  for (int i = 0; i < 5; ++i) cloud_->add_machine({});
  expect_one_machine(launch_new().id);
  const driver::Limits available = process_->run(provider().available());
  EXPECT_EQ(available.at("instances"), 100 - 5);
}

TEST_P(GceContract, a_machine_is_usable_though_one_listing_lacks_it) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(1));
  gce().empty_lists = 1;
  EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
  process_->pass(std::chrono::minutes(1));
  gce().empty_lists = 3;
  EXPECT_TRUE(process_->run(provider().is_usable(node.id))) << "Google finds the machine itself";
  EXPECT_EQ(gce().count("GET instances/NAME"), 1U);
  process_->pass(std::chrono::minutes(1));
  gce().instances.clear();
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
}

TEST_P(GceContract, without_permission_to_read_a_machine_lists_decide) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(1));
  gce().fail("GET instances/NAME", {{.status = 403, .reason = "forbidden"}});
  gce().empty_lists = 3;
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
}

TEST_P(GceContract, lists_without_the_machine_end_no_launch) {
  cloud_->set_boot_time(std::chrono::minutes(3));
  const std::string id = add_node();
  const auto job = start().launch(id);
  while (gce().count("POST instances") < 1) ASSERT_TRUE(process_->step());
  process_->pass(std::chrono::seconds(10));
  gce().empty_lists = 1000;
  while (gce().count("GET instances/NAME") < 1) ASSERT_TRUE(process_->step());
  gce().empty_lists = 0;
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_EQ(gce().count("POST instances"), 1U);
}

// Google does not find an instance before its operation has begun.
TEST_P(GceContract, a_machine_that_is_not_found_yet_is_deleted_in_the_same_deletion) {
  const Node node = launch_new();
  gce().fail("DELETE instances/NAME", {{.status = 404, .reason = "notFound"}});
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), IsEmpty());
  EXPECT_EQ(gce().count("DELETE instances/NAME"), 2U);
}

TEST_P(GceContract, a_machine_that_was_refused_is_deleted_only_once) {
  gce().lists_failed = false;
  cloud_->provoke(Trouble::quota, 1);
  const Failed failed = fail_to_launch();
  process_->pass(std::chrono::seconds(10));
  const auto begun = installation_.clock.now();
  reclaim(failed.node_id);
  EXPECT_LT(installation_.clock.now() - begun, std::chrono::seconds(10));
  EXPECT_EQ(gce().count("DELETE instances/NAME"), 1U);
}

TEST_P(GceContract, a_listing_that_google_calls_incomplete_says_nothing) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(1));
  const StandIn::Failure incomplete{
      .status = 200, .message = R"({"items": [], "warning": {"code": "UNREACHABLE"}})"};
  gce().fail("GET instances", {incomplete, incomplete});
  EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
}

// As of a misspelled project.
TEST_P(GceContract, a_machine_is_not_gone_because_its_list_does_not_exist) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(1));
  gce().fail("GET instances",
             std::vector<StandIn::Failure>(10, {.status = 404, .reason = "notFound"}));
  EXPECT_THAT(finish(process_->reclaim(node.id))->failure(), HasSubstr("HTTP 404"));
  EXPECT_TRUE(is_recorded(node.id));
  EXPECT_THAT(machines_of(node.id), SizeIs(1));
}

TEST_P(GceContract, one_late_listing_without_the_machine_fails_no_launch) {
  cloud_->set_boot_time(std::chrono::minutes(10));
  launch_new();  // the next is first polled when it is expected, after more than the patience
  gce().empty_lists = 1;
  launch_new();
  EXPECT_EQ(gce().empty_lists, 0U);
  EXPECT_EQ(gce().count("POST instances"), 2U);
}

TEST_P(GceContract, a_machine_is_kept_though_what_it_takes_cannot_be_read) {
  const std::string id = add_node();
  auto job = start().launch(id);
  while (gce().count("POST instances") < 1) ASSERT_TRUE(process_->step());
  gce().fail("GET machineTypes/NAME", std::vector<StandIn::Failure>(100 * kAttempts));
  const auto asked = gce().count("GET machineTypes/NAME");
  EXPECT_EQ(finish(start().launch(id))->failure(), "");  // the new launcher has not read it yet
  EXPECT_GT(gce().count("GET machineTypes/NAME"), asked);
  expect_one_machine(id);
  EXPECT_EQ(gce().count("POST instances"), 1U);
}

TEST_P(GceContract, a_label_without_its_image_or_type_is_declined) {
  gce().families.clear();
  start();
  process_->run(provider().available());
  EXPECT_THAT(provider().offer()->label(kPool, kLabel).problem,
              HasSubstr("no image of the family `debian-12` in project `debian-cloud`"));
}

TEST_P(GceContract, a_machine_type_that_is_new_in_the_zone_is_noticed) {
  gce().fail("GET machineTypes/NAME", {{.status = 404, .reason = "notFound"}});
  start();
  process_->run(provider().available());
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).problem,
            "zone north-1-a has no machine type e2-small");
  process_->pass(std::chrono::minutes(6));
  process_->run(provider().available());
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).problem, "");
  EXPECT_EQ(gce().count("GET machineTypes/NAME"), 2U);
}

TEST_P(GceContract, what_the_configuration_names_and_the_cloud_lacks_is_reported) {
  start();
  EXPECT_THAT(process_->run(provider().missing_in_cloud()), IsEmpty());
  gce().resources.erase("zones/north-1-a/diskTypes/pd-standard");
  EXPECT_THAT(process_->run(provider().missing_in_cloud()),
              testing::ElementsAre("there is no disk type `pd-standard`"));
}

// Google counts calls by the minute.
TEST_P(GceContract, after_too_many_calls_all_calls_pause) {
  gce().fail("POST instances", {{.status = 403, .reason = "rateLimitExceeded"}});
  start();
  const auto begun = installation_.clock.now();
  const Node node = launch_new();
  EXPECT_GT(installation_.clock.now() - begun, std::chrono::seconds(15));
  expect_one_machine(node.id);
  EXPECT_EQ(gce().count("POST instances"), 2U);
}

TEST_P(GceContract, a_token_serves_many_calls_and_is_renewed_before_it_expires) {
  launch_new();
  launch_new();
  EXPECT_EQ(gce().count("POST token"), 1U);
  process_->pass(std::chrono::minutes(58));
  launch_new();
  EXPECT_EQ(gce().count("POST token"), 2U);
  gce().expire_tokens();
  launch_new();
  EXPECT_EQ(gce().count("POST token"), 3U);
}

}  // namespace nodepool::drivers::contract
