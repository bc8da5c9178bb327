// The contract of all drivers that make machines, on a stand-in of the APIs.

#include "tests/drivers/contract/contract.h"

#include <algorithm>
#include <regex>

#include "async/live_tasks.h"
#include "drivers/aws/aws_driver.h"
#include "drivers/aws/external_id.h"
#include "tests/drivers/aws/stand_in/stand_in.h"

namespace nodepool::drivers::contract {
namespace {

using aws::StandIn;
using model::Node;

constexpr const char* kConfiguration = R"(
labels: [{name: small}, {name: built}]
diskimages: [{name: trixie, username: ci}]
providers:
  - name: fake-contract
    launch-timeout: 900
    driver: aws
    region-name: north-1
    rate: 0
    boot-timeout: 60
    diskimages: [{name: trixie, import-method: ebs-direct, tags: {team: infra}}]
    cloud-images:
      - {name: jammy, username: ci, image-filters: [{name: name, values: [jammy*]}]}
    pools:
      - name: main
        host-key-checking: false
        labels:
          - {name: small, cloud-image: jammy, instance-type: t3.medium, key-name: ci,
             volume-type: gp3, volume-size: 10}
          - {name: built, diskimage: trixie, instance-type: t3.medium, key-name: ci}
)";

// How often a call is made until it has failed for the driver.
constexpr std::size_t kAttempts = 4;
constexpr std::size_t kUnansweredAttempts = 2;  // … where nobody knows whether it was carried out

class AwsFixture : public CloudFixture {
 public:
  explicit AwsFixture(harness::Installation& installation)
      : AwsFixture(installation, kConfiguration) {}
  AwsFixture(harness::Installation& installation, const char* configuration)
      : configuration_(configuration),
        runtime_{loop_.executor(), installation.clock, installation.random},
        cloud_(runtime_) {}

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    const aws::AwsDriver driver({{"AWS_ACCESS_KEY_ID", "AKIDTEST"},
                                 {"AWS_SECRET_ACCESS_KEY", "secret"},
                                 {"AWS_ENDPOINT_URL", cloud_.url()}});
    launcher_ = context.runtime.executor;
    return driver.provider(read_provider(driver, configuration_), std::move(context));
  }

  std::string machine_of(const model::Node& node) override {
    return aws::parse_external_id(node.external_id).instance;
  }

  std::vector<Machine> machines() override {
    cloud_.settle();
    std::vector<Machine> all;
    for (const auto& [id, instance] : cloud_.instances) {
      if (instance.state == "terminated") continue;
      all.push_back({id, driver::Metadata(instance.tags.begin(), instance.tags.end())});
    }
    return all;
  }

  void provoke(Trouble trouble, std::size_t times) override {
    using Failure = StandIn::Failure;
    const auto fail = [&](const char* action, std::size_t calls, Failure failure) {
      cloud_.fail(action, std::vector<Failure>(calls, failure));
    };
    switch (trouble) {
      case Trouble::quota:
        return fail("RunInstances", times, {400, "VcpuLimitExceeded"});
      case Trouble::no_capacity:
        return fail("RunInstances", times, {500, "InsufficientInstanceCapacity"});
      case Trouble::creation_error:
        return fail("RunInstances", times, {400, "InvalidParameterValue"});
      case Trouble::broken_machine:
        cloud_.broken = times;
        return;
      case Trouble::response_lost:
        return fail("RunInstances", times * kUnansweredAttempts, {-1});
      case Trouble::request_lost:
        return fail("RunInstances", times * kUnansweredAttempts, {0});
      case Trouble::deletion_error:
        return fail("TerminateInstances", times, {400, "OperationNotPermitted"});
      case Trouble::listing_error:
        return fail("DescribeInstances", times * kAttempts, {503, "Unavailable"});
      case Trouble::listing_failed:
        return fail("DescribeInstances", times, {400, "InvalidParameterValue"});
      case Trouble::limits_error:
        return fail("ListServiceQuotas", times * kAttempts, {500, "ServiceException"});
      case Trouble::image_error:
        return fail("RegisterImage", times, {400, "InvalidParameterValue"});
      case Trouble::busy:
        return provoke_busy(times);
      case Trouble::token_expired:
        return cloud_.fail_any(std::vector<Failure>(times, {400, "RequestExpired"}));
    }
  }

  void set_boot_time(async::Duration time) override { cloud_.boot_time = time; }
  void set_capacity(std::size_t machines) override { cloud_.room = machines; }
  void add_machine(driver::Metadata metadata) override {
    const std::string id = cloud_.add_instance("t3.medium", {metadata.begin(), metadata.end()});
    cloud_.instances[id].state = "running";
  }

  void end_machine(const std::string& id) override { cloud_.interrupt(id); }

  // The wire is silent when every call that waits for an answer is one that the cloud holds back.
  bool wait_for_wire() override {
    const bool cloud_ran = loop_.poll();
    const auto tasks = async::live_tasks(launcher_);
    const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits_for_answer));
    return cloud_ran || calls > cloud_.held_back();
  }

  StandIn& cloud() { return cloud_; }
  virtual bool is_paced() const { return false; }

 private:
  static bool waits_for_answer(const async::LiveTask& task) {
    return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
      return wait.what.starts_with("http:");
    });
  }

  void provoke_busy(std::size_t times) {
    std::vector<StandIn::Failure> failures;
    for (std::size_t i = 0; i < times; ++i) {
      failures.push_back(i % 2 == 0 ? StandIn::Failure{503, "RequestLimitExceeded"}
                                    : StandIn::Failure{500, "InternalError"});
    }
    cloud_.fail_any(failures);
  }

  const char* configuration_;
  async::EventLoop loop_;
  async::Runtime runtime_;
  StandIn cloud_;
  async::Executor launcher_;
};

// All answers take a while.
class SlowFixture final : public AwsFixture {
 public:
  explicit SlowFixture(harness::Installation& installation) : AwsFixture(installation) {
    cloud().latency = std::chrono::milliseconds(1500);
  }
};

constexpr const char* kWithHosts = R"(
labels: [{name: small}]
providers:
  - name: fake-contract
    launch-timeout: 900
    driver: aws
    region-name: north-1
    rate: 0
    boot-timeout: 60
    cloud-images: [{name: jammy, username: ci, image-id: ami-1}]
    pools:
      - name: main
        host-key-checking: false
        availability-zone: north-1a
        labels:
          - {name: small, cloud-image: jammy, instance-type: t3.medium, key-name: ci,
             dedicated-host: true}
)";

// Each machine has a host of its own, which is made before it and goes after it. One on which there
// is nothing is a machine for the contract: it costs as much.
class HostFixture final : public AwsFixture {
 public:
  explicit HostFixture(harness::Installation& installation) : AwsFixture(installation, kWithHosts) {
    cloud().dedicated_hosts.allocation_time = std::chrono::seconds(2);
  }

  std::vector<Machine> machines() override {
    std::vector<Machine> all = AwsFixture::machines();
    for (const auto& [id, host] : cloud().dedicated_hosts.hosts) {
      if (host.instance.empty()) {
        all.push_back({id, driver::Metadata(host.tags.begin(), host.tags.end())});
      }
    }
    return all;
  }

  // The machine's call goes over a connection that has been used for the host's: libcurl itself
  // makes it once more, over a new one.
  void provoke(Trouble trouble, std::size_t times) override {
    if (trouble == Trouble::response_lost || trouble == Trouble::request_lost) {
      const StandIn::Failure failure{trouble == Trouble::response_lost ? -1 : 0};
      const std::size_t calls = times * kUnansweredAttempts;
      cloud().fail("AllocateHosts", std::vector<StandIn::Failure>(calls, failure));
      cloud().fail("RunInstances", std::vector<StandIn::Failure>(calls + times, failure));
      return;
    }
    AwsFixture::provoke(trouble, times);
  }
};

// The image is named by its id; the disk is another one than the image's; two types will do.
class FleetFixture final : public AwsFixture {
 public:
  explicit FleetFixture(harness::Installation& installation)
      : AwsFixture(installation, kWithFleet.c_str()) {}

 private:
  static inline const std::string kWithFleet = std::regex_replace(
      kWithHosts, std::regex("instance-type: t3.medium, key-name: ci,\\s+dedicated-host: true"),
      "key-name: ci, fleet: {instance-types: [t3.medium, t3.large, old1.large], "
      "allocation-strategy: diversified}");
};
class DiskFixture final : public AwsFixture {
 public:
  explicit DiskFixture(harness::Installation& installation)
      : AwsFixture(installation, kWithDisk.c_str()) {}

 private:
  static inline const std::string kWithDisk =
      std::regex_replace(kWithHosts, std::regex("dedicated-host: true"), "volume-size: 100");
};

// Of two of the labels, no machine can be made.
class UnusableFixture final : public AwsFixture {
 public:
  explicit UnusableFixture(harness::Installation& installation)
      : AwsFixture(installation, kUnusable) {}

 private:
  static constexpr const char* kUnusable = R"(
labels: [{name: small}, {name: hosted}, {name: bare}]
providers:
  - name: fake-contract
    driver: aws
    region-name: north-1
    rate: 0
    cloud-images:
      - {name: jammy, username: ci, image-id: ami-1}
      - {name: none, username: ci}
    pools:
      - name: main
        host-key-checking: false
        availability-zone: north-1a
        labels:
          - {name: small, cloud-image: jammy, instance-type: t3.medium, key-name: ci}
          - {name: hosted, cloud-image: jammy, key-name: ci, dedicated-host: true,
             fleet: {instance-types: [t3.medium], allocation-strategy: diversified}}
          - {name: bare, cloud-image: none, instance-type: t3.medium, key-name: ci}
)";
};

// At the default rate.
class PacedFixture final : public AwsFixture {
 public:
  explicit PacedFixture(harness::Installation& installation)
      : AwsFixture(installation, kAtDefaultRate.c_str()) {}

  bool is_paced() const override { return true; }

 private:
  static inline const std::string kAtDefaultRate =
      std::regex_replace(kConfiguration, std::regex("    rate: 0\n"), "");
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(aws, DriverContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, DeathContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(hosts, DeathContract, testing::Values(backend<HostFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, QuotaContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, EndContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, ImageContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, WireContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DriverContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DeathContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, WireContract, testing::Values(backend<SlowFixture>()));

// What AWS alone does.
class AwsContract : public DriverContract {
 protected:
  StandIn& aws() { return static_cast<AwsFixture&>(*cloud_).cloud(); }

  // Launches so many nodes side by side, and returns their ids.
  std::vector<std::string> launch_many(int count) {
    std::vector<std::string> ids;
    std::vector<std::shared_ptr<harness::Job>> jobs;
    for (int i = 0; i < count; ++i) ids.push_back(add_node());
    for (const std::string& id : ids) jobs.push_back(process_->launch(id));
    for (const auto& job : jobs) EXPECT_EQ(finish(job)->failure(), "");
    return ids;
  }
  void reclaim_many(const std::vector<std::string>& ids) {
    std::vector<std::shared_ptr<harness::Job>> jobs;
    for (const std::string& id : ids) jobs.push_back(process_->reclaim(id));
    for (const auto& job : jobs) EXPECT_EQ(finish(job)->failure(), "");
  }
  int calls() {
    int sum = 0;
    for (const auto& [action, count] : aws().counts()) sum += count;
    return sum;
  }
};

INSTANTIATE_TEST_SUITE_P(aws, AwsContract, testing::Values(backend<AwsFixture>()));

// The page of a proxy, say.
TEST_P(AwsContract, an_unreadable_listing_fails_no_launch) {
  aws().boot_time = std::chrono::minutes(1);
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(std::chrono::seconds(10));
  aws().fail("DescribeInstances", std::vector<StandIn::Failure>(5, {200, "Page"}));
  EXPECT_EQ(finish(job)->failure(), "");
  expect_one_machine(id);
  EXPECT_EQ(aws().count("RunInstances"), 1);
  aws().fail("DescribeInstances", std::vector<StandIn::Failure>(5, {200, "Page"}));
  reclaim(id);
}

// What was made a moment ago is not known everywhere yet.
TEST_P(AwsContract, what_is_listed_is_not_gone_though_it_cannot_be_ended_yet) {
  const Node node = launch_new();
  aws().fail("TerminateInstances", {{400, "InvalidInstanceID.NotFound"}});
  reclaim_in_the_end(node.id, 2);
  EXPECT_THAT(machine_ids(), testing::IsEmpty());
}

TEST_P(AwsContract, what_is_neither_found_nor_listed_yet_is_ended_in_the_same_deletion) {
  const Node node = launch_new();
  aws().listing_lag = std::chrono::hours(1);
  process_->pass(std::chrono::seconds(10));  // no listing that shows it is young enough any more
  aws().fail("TerminateInstances", {{400, "InvalidInstanceID.NotFound"}});
  reclaim(node.id);
  EXPECT_NE(aws().instances.at(cloud_->machine_of(node)).state, "running");
}

TEST_P(AwsContract, what_is_found_nowhere_for_a_while_is_gone) {
  const Node node = launch_new();
  aws().instances.clear();
  process_->pass(std::chrono::seconds(10));
  reclaim(node.id);
  EXPECT_FALSE(is_recorded(node.id));
  EXPECT_EQ(aws().count("TerminateInstances"), 2) << "again after the consistency delay";
}

// Listings of a large account take longer than their usual age.
TEST_P(AwsContract, volumes_are_listed_for_all_instances_together) {
  start();
  aws().latency = std::chrono::seconds(15);
  for (int i = 0; i < 30; ++i) cloud_->add_machine({});
  aws().volumes.clear();
  aws().forget_calls();
  process_->run(provider().launching()->leaks());
  EXPECT_LE(aws().count("DescribeVolumes"), 3) << "two for the machines, one for the leaks";
}

// --- what is asked for twice

std::vector<std::string> tokens(const std::vector<StandIn::Parameters>& calls) {
  std::vector<std::string> tokens;
  for (const StandIn::Parameters& call : calls) tokens.push_back(call.at("ClientToken"));
  return tokens;
}

TEST_P(AwsContract, a_machine_is_usable_though_one_listing_lacks_it) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(1));
  aws().empty_listings = 1;
  EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
  process_->pass(std::chrono::minutes(1));
  aws().empty_listings = 2;
  EXPECT_TRUE(process_->run(provider().is_usable(node.id))) << "EC2 finds the machine itself";
  EXPECT_EQ(aws().empty_listings, 0U);
  process_->pass(std::chrono::minutes(1));
  aws().instances.clear();
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
}

TEST_P(AwsContract, listings_without_the_machine_end_no_launch) {
  aws().boot_time = std::chrono::minutes(3);
  const std::string id = add_node();
  const auto job = start().launch(id);
  while (aws().count("RunInstances") < 1) ASSERT_TRUE(process_->step());
  aws().listing_lag = std::chrono::minutes(2);  // longer than the consistency delay
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_EQ(aws().count("RunInstances"), 1);
}

TEST_P(AwsContract, a_machine_that_listings_lack_is_deleted_only_when_ec2_says_so) {
  const Node node = launch_new();
  aws().listing_lag = std::chrono::hours(1);
  process_->pass(std::chrono::seconds(10));  // no listing that shows it is young enough any more
  reclaim(node.id);
  aws().settle();
  EXPECT_EQ(aws().instances.at(cloud_->machine_of(node)).state, "terminated");
}

TEST_P(AwsContract, a_machine_is_usable_while_the_listing_fails) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(1));
  cloud_->provoke(Trouble::listing_error, 1000);
  EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
}

TEST_P(AwsContract, a_machine_is_kept_though_what_it_takes_cannot_be_read) {
  const std::string id = add_node();
  auto job = start().launch(id);
  while (aws().count("RunInstances") < 1) ASSERT_TRUE(process_->step());
  aws().fail("DescribeInstanceTypes",
             std::vector<StandIn::Failure>(100 * kAttempts, {503, "Unavailable"}));
  const auto asked = aws().count("DescribeInstanceTypes");
  EXPECT_EQ(finish(start().launch(id))->failure(), "");  // the new launcher has not read it yet
  EXPECT_GT(aws().count("DescribeInstanceTypes"), asked);
  expect_one_machine(id);
  EXPECT_EQ(aws().count("RunInstances"), 1);
}

TEST_P(AwsContract, a_machine_that_is_listed_late_is_not_made_twice) {
  aws().listing_lag = std::chrono::seconds(45);  // more than is waited before it is made again
  aws().fail("RunInstances", std::vector<StandIn::Failure>(kUnansweredAttempts, {-1}));
  const Node node = launch_new();
  expect_one_machine(node.id);
  const std::vector<std::string> used = tokens(aws().calls("RunInstances"));
  EXPECT_THAT(used, testing::SizeIs(kUnansweredAttempts + 1));
  EXPECT_THAT(used, testing::Each(used.front()));
}

TEST_P(AwsContract, a_resumed_attempt_uses_the_same_token) {
  aws().listing_lag = std::chrono::seconds(45);
  aws().fail("RunInstances", {{-1}, {-1}});
  const std::string id = add_node();
  auto job = start().launch(id);
  while (aws().count("RunInstances") < 2) ASSERT_TRUE(process_->step());
  EXPECT_EQ(finish(start().launch(id))->failure(), "");
  expect_one_machine(id);
  const std::vector<std::string> used = tokens(aws().calls("RunInstances"));
  EXPECT_THAT(used, testing::Each(used.front()));
}

TEST_P(AwsContract, each_attempt_and_each_node_has_a_token_of_its_own) {
  aws().broken = 1;
  launch_new();
  launch_new();
  const std::vector<std::string> used = tokens(aws().calls("RunInstances"));
  EXPECT_EQ(std::set(used.begin(), used.end()).size(), 3U);
}

// The machine may be there, as it was wanted before. It is deleted once it is listed.
TEST_P(AwsContract, what_was_asked_for_with_other_parameters_is_another_attempt) {
  aws().listing_lag = std::chrono::minutes(2);
  aws().fail("RunInstances", {{-1}, {-1}});
  const std::string id = add_node();
  auto job = start().launch(id);
  while (aws().count("RunInstances") < 2) ASSERT_TRUE(process_->step());
  aws().images.insert("ami-2");  // the newest from now on
  job = start().launch(id);
  while (aws().count("RunInstances") < 4) ASSERT_TRUE(process_->step());
  aws().listing_lag = {};
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_EQ(node(id).launch_journal.text, "null");
  for (int look = 0; look < 2; ++look) process_->run(provider().launching()->remove_leaks());
  process_->pass(std::chrono::minutes(1));
  expect_one_machine(id);
  EXPECT_EQ(aws().count("RunInstances"), 4);
  const std::vector<std::string> used = tokens(aws().calls("RunInstances"));
  EXPECT_EQ(used.at(2), used.at(0));
  EXPECT_NE(used.at(3), used.at(0));
}

// --- what is asked for as a label says

// Its subnet may be in another zone now.
TEST_P(AwsContract, a_machine_is_not_bound_to_the_zone_of_an_earlier_attempt) {
  Node node = installation_.node(add_node());
  node.az = "north-1b";
  installation_.write(node);
  EXPECT_EQ(finish(start().launch(node.id))->failure(), "");
  const auto calls = aws().calls("RunInstances");
  ASSERT_THAT(calls, testing::SizeIs(1));
  EXPECT_THAT(calls.front(),
              testing::Not(testing::Contains(testing::Key("Placement.AvailabilityZone"))));
  EXPECT_EQ(this->node(node.id).az, "north-1a");
}

class FleetOfAws : public AwsContract {};
class DiskOfAws : public AwsContract {};
class UnusableOfAws : public AwsContract {};
INSTANTIATE_TEST_SUITE_P(aws, FleetOfAws, testing::Values(backend<FleetFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, DiskOfAws, testing::Values(backend<DiskFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, UnusableOfAws, testing::Values(backend<UnusableFixture>()));

TEST_P(FleetOfAws, a_fleet_needs_what_the_least_of_its_types_takes_and_is_limited_by_their_quotas) {
  start();
  EXPECT_TRUE(process_->run(provider().available()).contains("L-1216C47A"));
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).need,
            driver::Resources({{"instances", 1}, {"cores", 1}, {"ram", 4096}, {"L-1216C47A", 2}}));
}

// A template outlives the launcher that has made it.
TEST_P(FleetOfAws, another_launcher_uses_the_template_that_is_there) {
  launch_new();
  start();
  const Node node = launch_new();
  expect_one_machine(node.id);
  EXPECT_EQ(aws().count("CreateLaunchTemplate"), 2);
  EXPECT_THAT(aws().templates, testing::SizeIs(1));
}

// The Python Nodepool deletes the templates of a provider that it would not create itself.
TEST_P(FleetOfAws, a_template_that_others_have_deleted_is_created_again_in_the_same_attempt) {
  launch_new();
  aws().templates.clear();
  const Node node = launch_new();
  expect_one_machine(node.id);
  EXPECT_EQ(aws().count("CreateFleet"), 3);
  EXPECT_EQ(aws().count("CreateLaunchTemplate"), 2);
  EXPECT_THAT(aws().templates, testing::SizeIs(1));
  EXPECT_THAT(installation_.accounts, testing::SizeIs(2)) << "one attempt each";
}

TEST_P(FleetOfAws, a_template_that_is_missing_again_fails_the_attempt) {
  const std::string code = "InvalidLaunchTemplateName.NotFoundException";
  aws().fail("CreateFleet", {{400, code}, {400, code}});
  expect_one_machine(launch_new().id);
  EXPECT_EQ(aws().count("CreateFleet"), 3);
  EXPECT_THAT(installation_.accounts, testing::SizeIs(2)) << "the second attempt succeeds";
}

TEST_P(UnusableOfAws, what_cannot_be_made_concerns_only_its_label) {
  start();
  process_->run(provider().available());
  const auto offer = provider().offer();
  EXPECT_EQ(offer->label(kPool, kLabel).problem, "");
  EXPECT_EQ(offer->label(kPool, "hosted").problem, "a dedicated host does not go with a `fleet`");
  EXPECT_THAT(offer->label(kPool, "bare").problem, testing::HasSubstr("the label has no image"));
}

TEST_P(DiskOfAws, a_machine_is_not_made_without_the_disk_that_its_label_asks_for) {
  aws().fail("DescribeImages", {{400, "InvalidAMIID.NotFound"}});
  launch_new();
  const auto calls = aws().calls("RunInstances");
  ASSERT_THAT(calls, testing::SizeIs(1));
  EXPECT_THAT(calls.front(),
              testing::Contains(testing::Pair("BlockDeviceMapping.1.Ebs.VolumeSize", "100")));
  ASSERT_FALSE(installation_.accounts.empty());
  EXPECT_THAT(installation_.accounts.front().failure, testing::HasSubstr("ami-1"));
}

TEST_P(DiskOfAws, an_image_without_a_disk_of_its_own_is_said) {
  aws().images.clear();
  aws().own_images["ami-1"] = {
      .name = "diskless", .snapshot = {}, .description = {}, .tags = {}, .blocks = {}};
  const auto failed = fail_to_launch();
  EXPECT_THAT(failed.error.what(), testing::HasSubstr("ami-1 has no EBS root volume"));
  EXPECT_EQ(aws().count("RunInstances"), 0);
}

// --- what is released, and what is looked for

TEST_P(AwsContract, a_host_on_which_aws_itself_has_put_a_machine_is_not_released) {
  aws().dedicated_hosts.hosts["h-operator"] = {
      .type = "t3.medium", .zone = "north-1a", .tags = {}, .instance = {}};
  aws().default_host = "h-operator";
  const Node node = launch_new();
  ASSERT_EQ(aws().dedicated_hosts.hosts["h-operator"].instance, cloud_->machine_of(node));
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), testing::IsEmpty());
  EXPECT_EQ(aws().count("ReleaseHosts"), 0);
}

// As a Python launcher that was killed before the instance ran has left it.
TEST_P(AwsContract, an_instance_that_the_record_lacks_is_terminated_before_its_host_is_released) {
  Node node = this->node(add_node());
  node.external_id = aws::to_json({.instance = {}, .host = "h-ours"});
  installation_.write(node);
  const auto add_on_host = [this](const driver::Metadata& tags) {
    const std::string id = aws().add_instance("t3.medium", {tags.begin(), tags.end()});
    aws().instances[id].host = "h-ours";
    return id;
  };
  const driver::Metadata ours = {{std::string(driver::kProviderNameKey), kProvider},
                                 {std::string(driver::kNodeIdKey), node.id}};
  const std::string other = add_on_host(owner_tags(kProvider, "0000009999"));
  aws().dedicated_hosts.hosts["h-ours"] = {.type = "t3.medium",
                                           .zone = "north-1a",
                                           .tags = {ours.begin(), ours.end()},
                                           .instance = add_on_host(ours)};
  reclaim(node.id);
  EXPECT_THAT(aws().dedicated_hosts.hosts, testing::IsEmpty());
  EXPECT_THAT(machine_ids(), testing::ElementsAre(other));
  EXPECT_EQ(aws().count("ReleaseHosts"), 1) << "not while it was occupied";
}

// The last label that wants a host may be gone from the configuration.
TEST_P(AwsContract, an_unused_host_is_released_without_a_label_that_needs_one) {
  const driver::Metadata ours = owner_tags(kProvider, "0000009999");
  aws().dedicated_hosts.hosts["h-ours"] = {
      .type = "t3.medium", .zone = "north-1a", .tags = {ours.begin(), ours.end()}, .instance = {}};
  aws().dedicated_hosts.hosts["h-operator"] = {
      .type = "t3.medium", .zone = "north-1a", .tags = {}, .instance = {}};
  start();
  for (int look = 0; look < 3; ++look) process_->run(provider().launching()->remove_leaks());
  EXPECT_THAT(aws().dedicated_hosts.hosts, testing::ElementsAre(testing::Key("h-operator")));
}

TEST_P(AwsContract, without_hosts_no_permission_to_list_hosts_is_needed) {
  aws().fail("DescribeHosts", std::vector<StandIn::Failure>(9, {403, "UnauthorizedOperation"}));
  cloud_->add_machine(owner_tags(kProvider, "0000009999"));
  start();
  for (int look = 0; look < 3; ++look) {
    process_->run(provider().launching()->remove_leaks());
    process_->pass(std::chrono::minutes(1));
  }
  EXPECT_THAT(machine_ids(), testing::IsEmpty());
  EXPECT_EQ(aws().count("DescribeHosts"), 1);
}

TEST_P(AwsContract, a_template_that_no_label_needs_is_deleted_though_no_label_has_a_fleet) {
  const std::map<std::string, std::string> ours = {
      {"nodepool_managed", "True"},
      {std::string(driver::kProviderNameKey), kProvider},
      {std::string(driver::kInstallationIdKey), driver::harness::kInstallationId}};
  aws().templates["nodepool-launch-template-1"] = ours;
  aws().templates["nodepool-launch-template-2"] = {};
  start();
  for (int look = 0; look < 4; ++look) process_->run(provider().launching()->remove_leaks());
  EXPECT_THAT(aws().templates, testing::ElementsAre(testing::Key("nodepool-launch-template-2")));
  EXPECT_EQ(aws().count("DescribeLaunchTemplates"), 2) << "until there are none";
}

TEST_P(AwsContract, without_fleets_no_permission_to_list_templates_is_needed) {
  aws().fail("DescribeLaunchTemplates", {{403, "UnauthorizedOperation"}});
  start();
  for (int look = 0; look < 2; ++look) process_->run(provider().launching()->remove_leaks());
  EXPECT_EQ(aws().count("DescribeLaunchTemplates"), 1);
  EXPECT_THAT(installation_.log, testing::Not(testing::Contains(testing::AllOf(
                                     testing::StartsWith("! "), testing::HasSubstr("emplate")))));
}

// As a record has it that was written by hand, or by another driver.
TEST_P(AwsContract, an_id_that_names_nothing_needs_no_deletion) {
  for (const char* external_id : {R"("6b1f-a-server-elsewhere")", R"({"instance": "server"})"}) {
    Node node = launch_new();
    reclaim(node.id);
    node.id = add_node();
    node.state = model::NodeState::deleting;
    node.external_id = model::Json{external_id};
    installation_.write(node);
    reclaim(node.id);
    EXPECT_FALSE(is_recorded(node.id)) << external_id;
  }
}

// The aim is 1.1 calls for a node's life, where many are wanted at a time. At the default rate they
// come up one after the other, for 50 s: some calls more, and nobody waits long.
class CallsOfAws : public AwsContract {
 protected:
  int most() const { return static_cast<const AwsFixture&>(*cloud_).is_paced() ? 125 : 110; }
};

INSTANTIATE_TEST_SUITE_P(unlimited, CallsOfAws, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(default_rate, CallsOfAws, testing::Values(backend<PacedFixture>()));

TEST_P(CallsOfAws, a_hundred_nodes_cost_little_more_than_a_call_each) {
  aws().room = 1000;
  aws().boot_time = std::chrono::seconds(20);
  aws().shutdown_time = std::chrono::seconds(30);
  start();
  reclaim_many(launch_many(10));  // how long they take is known from now on
  aws().forget_calls();
  const std::vector<std::string> ids = launch_many(100);
  const int launching = calls();
  reclaim_many(ids);
  EXPECT_EQ(aws().count("RunInstances"), 100);
  EXPECT_EQ(aws().count("TerminateInstances"), 2) << "50 at a time";
  EXPECT_LE(calls(), most()) << testing::PrintToString(aws().counts())
                             << ", launching: " << launching;
}

}  // namespace nodepool::drivers::contract
