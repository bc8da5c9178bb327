// The contract of all drivers that make machines, on a stand-in of the APIs.

#include "tests/drivers/contract/contract.h"

#include <algorithm>

#include "async/live_tasks.h"
#include "drivers/aws/aws_driver.h"
#include "tests/drivers/aws/stand_in/stand_in.h"

namespace nodepool::drivers::contract {
namespace {

using aws::StandIn;

constexpr const char* kConfiguration = R"(
labels: [{name: small}, {name: built}]
diskimages: [{name: trixie, username: ci}]
providers:
  - name: fake-contract
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
      : runtime_{loop_.executor(), installation.clock, installation.random}, cloud_(runtime_) {}

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    const aws::AwsDriver driver({{"AWS_ACCESS_KEY_ID", "AKIDTEST"},
                                 {"AWS_SECRET_ACCESS_KEY", "secret"},
                                 {"AWS_ENDPOINT_URL", cloud_.url()}});
    launcher_ = context.runtime.executor;
    return driver.provider(read_provider(driver, kConfiguration), std::move(context));
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
      case Trouble::answer_lost:
        return fail("RunInstances", times * kUnansweredAttempts, {-1});
      case Trouble::question_lost:
        return fail("RunInstances", times * kUnansweredAttempts, {0});
      case Trouble::deletion_error:
        return fail("TerminateInstances", times, {400, "OperationNotPermitted"});
      case Trouble::listing_error:
        return fail("DescribeInstances", times * kAttempts, {503, "Unavailable"});
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
  void set_room(std::size_t machines) override { cloud_.room = machines; }
  void add_machine(driver::Metadata metadata) override {
    const std::string id = cloud_.add_instance("t3.medium", {metadata.begin(), metadata.end()});
    cloud_.instances[id].state = "running";
  }

  // The wire is silent when every call that waits for an answer is one that the cloud holds back.
  bool wait_for_wire() override {
    const bool cloud_ran = loop_.poll();
    const auto tasks = async::live_tasks(launcher_);
    const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits_for_answer));
    return cloud_ran || calls > cloud_.held_back();
  }

 protected:
  StandIn& cloud() { return cloud_; }

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

  std::size_t stride() const override { return 3; }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(aws, DriverContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, QuotaContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, ImageContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(aws, WireContract, testing::Values(backend<AwsFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DriverContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, WireContract, testing::Values(backend<SlowFixture>()));

}  // namespace nodepool::drivers::contract
