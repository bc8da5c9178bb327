// Machines of the example driver through the provider that the launcher sees.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "config/yaml.h"
#include "drivers/example/example_config.h"
#include "drivers/example/example_driver.h"
#include "tests/driver/harness/launcher_process.h"

namespace nodepool::drivers::example {
namespace {

using driver::LaunchError;
using driver::harness::Job;
using driver::harness::LauncherProcess;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ExampleProviderTest : public testing::Test {
 protected:
  static std::shared_ptr<const ExampleConfig> config() {
    config::ProviderSection section;
    section.name = "sky";
    section.driver = "example";
    section.value = config::parse_yaml(R"(
name: sky
region: north
project: ci
rate-limit: 1
cloud-images: [{name: debian-12, username: ci}, {name: broken}]
pools:
  - name: main
    labels:
      - {name: small, cloud-image: debian-12, instance-type: small}
      - {name: large, cloud-image: debian-12, instance-type: large}
      - {name: sick, cloud-image: broken, instance-type: small}
      - {name: odd, cloud-image: debian-12, instance-type: gigantic}
)",
                                       "f");
    config::Config top;
    for (const char* name : {"small", "large", "sick", "odd"}) top.labels[name].name = name;
    return std::make_shared<ExampleConfig>(section, top);
  }

  // A launcher is started; one that ran before is dead by then.
  void start() {
    process_.reset();
    process_ =
        std::make_unique<LauncherProcess>(installation_, [this](driver::ProviderContext context) {
          threads_ = &context.threads;
          return driver_.provider(config(), context);
        });
  }

  // Time passes only while no call is under way on a thread.
  void step() {
    process_->settle();
    if (!threads_->idle()) {
      std::this_thread::yield();
    } else if (!process_->step()) {
      FAIL() << "nothing is left that could happen";
    }
  }

  void finish(const Job& job) {
    while (!job.ended && !HasFatalFailure()) step();
  }

  std::shared_ptr<Job> launch(const std::string& label) {
    const std::string id = installation_.add_node("sky", "main", label);
    auto job = process_->launch(id);
    finish(*job);
    last_id_ = id;
    return job;
  }

  driver::Limits available() {
    driver::Limits limits;
    const auto ask = [](driver::Provider& provider, driver::Limits& answer) -> async::Task<> {
      answer = co_await provider.available();
    };
    const auto job = process_->begin(ask(process_->provider(), limits));
    finish(*job);
    job->result();
    return limits;
  }

  std::vector<sample_cloud::Machine> machines() {
    return cloud_->project("north", "ci")->list_machines();
  }

  std::shared_ptr<sample_cloud::Cloud> cloud_ = std::make_shared<sample_cloud::Cloud>();
  ExampleDriver driver_{cloud_};
  driver::harness::Installation installation_;
  async::ThreadPool* threads_ = nullptr;
  std::unique_ptr<LauncherProcess> process_;
  std::string last_id_;
};

TEST_F(ExampleProviderTest, a_node_is_launched_and_taken_back) {
  start();
  launch("small")->result();
  const model::Node node = installation_.node(last_id_);
  EXPECT_EQ(node.state, model::NodeState::ready);
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(node.cloud, "example");
  EXPECT_EQ(node.region, "north");
  EXPECT_THAT(node.interface_ip.value_or(""), HasSubstr("fake"));
  EXPECT_THAT(node.host_keys, SizeIs(1));
  EXPECT_TRUE(node.launch_journal.is_null());
  ASSERT_THAT(machines(), SizeIs(1));
  EXPECT_EQ(machines()[0].id, node.external_id_text());
  EXPECT_EQ(machines()[0].order.tags.at("nodepool_node_id"), last_id_);
  const auto taking_back = process_->take_back(last_id_);
  finish(*taking_back);
  taking_back->result();
  EXPECT_THAT(machines(), IsEmpty());
  EXPECT_THAT(installation_.nodes(), IsEmpty());
}

TEST_F(ExampleProviderTest, a_machine_that_fails_is_undone_and_tried_again) {
  start();
  const auto job = launch("sick");
  EXPECT_THAT(job->failure(), HasSubstr("it does not start"));
  const auto taking_back = process_->take_back(last_id_);
  finish(*taking_back);
  EXPECT_THAT(machines(), IsEmpty());
  cloud_->project("north", "ci")->create_machine({.image = "debian-12", .type = "small"});
  EXPECT_EQ(machines().at(0).id, "m-000004");  // after those of three attempts
}

TEST_F(ExampleProviderTest, what_the_quota_does_not_allow_is_refused) {
  start();
  for (int i = 0; i < 5; ++i) launch("large")->result();
  try {
    launch("large")->result();
    FAIL() << "launched beyond the quota";
  } catch (const LaunchError& error) {
    EXPECT_EQ(error.kind(), LaunchError::Kind::quota);
  }
}

TEST_F(ExampleProviderTest, a_launch_goes_on_after_its_launcher_has_died) {
  start();
  const std::string id = installation_.add_node("sky", "main", "small");
  const auto job = process_->launch(id);
  while (machines().empty()) step();
  start();
  const auto again = process_->launch(id);
  finish(*again);
  again->result();
  ASSERT_THAT(machines(), SizeIs(1));
  EXPECT_EQ(machines()[0].id, installation_.node(id).external_id_text());
}

TEST_F(ExampleProviderTest, labels_and_limits_are_learned_from_the_cloud) {
  start();
  cloud_->project("north", "ci")->create_machine({.image = "debian-12", .type = "medium"});
  const driver::Limits limits = available();
  EXPECT_EQ(limits.at("instances"), 9);
  EXPECT_EQ(limits.at("cores"), 38);
  EXPECT_EQ(process_->provider().need("main", "large").amount("cores"), 8);
  EXPECT_EQ(process_->provider().label_problem("main", "large"), std::nullopt);
  EXPECT_THAT(process_->provider().label_problem("main", "odd").value_or(""),
              HasSubstr("gigantic"));
}

TEST_F(ExampleProviderTest, machines_of_nobody_are_deleted) {
  start();
  const sample_cloud::Order lost{
      .name = "np0",
      .image = "debian-12",
      .type = "small",
      .tags = {{"nodepool_provider_name", "sky"}, {"nodepool_node_id", "0000009999"}}};
  cloud_->project("north", "ci")->create_machine(lost);
  cloud_->project("north", "ci")
      ->create_machine({.name = "other", .image = "debian-12", .type = "small"});
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(machines(), SizeIs(2));
    const auto job = process_->begin(process_->provider().remove_leaks());
    finish(*job);
    job->result();
    process_->pass(std::chrono::minutes(1));
  }
  ASSERT_THAT(machines(), SizeIs(1));
  EXPECT_EQ(machines()[0].order.name, "other");
}

}  // namespace
}  // namespace nodepool::drivers::example
