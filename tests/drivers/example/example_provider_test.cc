// Machines of the example driver through the provider that the launcher sees.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "config/yaml.h"
#include "drivers/example/example_config.h"
#include "drivers/example/example_driver.h"
#include "tests/driver/harness/launcher_process.h"

namespace nodepool::drivers::example {
namespace {

using driver::LaunchError;
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

  void SetUp() override {
    process_.emplace(installation_, [this](driver::ProviderContext context) {
      return driver_.provider(config(), std::move(context));
    });
  }

  // Returns the node's id, or throws what its launch failed with.
  std::string launch(const std::string& label) {
    std::string id = installation_.add_node("sky", "main", label);
    const auto job = process_->launch(id);
    process_->run_until_ended(*job);
    job->result();
    return id;
  }

  std::vector<sample_cloud::Machine> machines() {
    return cloud_->project("north", "ci")->list_machines();
  }

  std::shared_ptr<sample_cloud::Cloud> cloud_ = std::make_shared<sample_cloud::Cloud>();
  ExampleDriver driver_{cloud_};
  driver::harness::Installation installation_;
  std::optional<LauncherProcess> process_;
};

TEST_F(ExampleProviderTest, a_node_is_launched_and_reclaimed) {
  const std::string id = launch("small");
  const model::Node node = installation_.node(id);
  EXPECT_EQ(node.state, model::NodeState::ready);
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(node.cloud, "example");
  EXPECT_EQ(node.region, "north");
  EXPECT_THAT(node.interface_ip.value_or(""), HasSubstr("example.org"));
  EXPECT_THAT(node.host_keys, SizeIs(1));
  EXPECT_TRUE(node.launch_journal.is_null());
  ASSERT_THAT(machines(), SizeIs(1));
  EXPECT_EQ(machines()[0].id, node.external_id_text());
  EXPECT_EQ(machines()[0].spec.name, "np" + id);
  const auto taking_back = process_->reclaim(id);
  process_->run_until_ended(*taking_back);
  taking_back->result();
  EXPECT_THAT(machines(), IsEmpty());
}

TEST_F(ExampleProviderTest, a_machine_that_does_not_start_reports_the_reason) {
  try {
    launch("sick");
    FAIL() << "launched a machine that does not start";
  } catch (const LaunchError& error) {
    EXPECT_EQ(error.kind(), LaunchError::Kind::failed);
    EXPECT_THAT(error.what(), HasSubstr("it does not start"));
  }
}

TEST_F(ExampleProviderTest, what_the_quota_does_not_allow_is_refused) {
  for (int i = 0; i < 5; ++i) launch("large");
  try {
    launch("large");
    FAIL() << "launched beyond the quota";
  } catch (const LaunchError& error) {
    EXPECT_EQ(error.kind(), LaunchError::Kind::quota);
  }
}

TEST_F(ExampleProviderTest, labels_and_limits_are_learned_from_the_cloud) {
  cloud_->project("north", "ci")->create_machine({.image = "debian-12", .type = "medium"});
  const driver::Limits limits = process_->run(process_->provider().available());
  EXPECT_EQ(limits.at("instances"), 9);
  EXPECT_EQ(limits.at("cores"), 38);
  EXPECT_EQ(process_->provider().offer()->label("main", "large").need.amount("cores"), 8);
  EXPECT_EQ(process_->provider().offer()->label("main", "large").problem, "");
  EXPECT_THAT(process_->provider().offer()->label("main", "odd").problem, HasSubstr("gigantic"));
}

}  // namespace
}  // namespace nodepool::drivers::example
