// The driver's configuration, and what its nodes look like.

#include "drivers/fake/fake_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/validate.h"
#include "driver/cloud_error.h"
#include "drivers/fake/fake_config.h"
#include "tests/driver/harness/launcher_process.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::fake {
namespace {

using driver::harness::Installation;
using driver::harness::LauncherProcess;
using model::Node;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kBeginning = R"(
labels: [{name: small}, {name: huge}, {name: volume}, {name: lost}, {name: by-id}, {name: six},
         {name: built}]
diskimages: [{name: trixie}]
providers:
  - name: fake-1
    driver: openstack
    cloud: sky
    region-name: north
    diskimages: [{name: trixie}]
    cloud-images:
      - {name: Fake Precise, username: ci}
      - {name: nowhere}
      - {name: fixed, image-id: some-id}
)";

constexpr const char* kPools = R"(
    pools:
      - name: main
        labels:
          - {name: small, cloud-image: Fake Precise, min-ram: 8000, flavor-name: Unreal}
          - {name: huge, cloud-image: Fake Precise, min-ram: 100000}
          - {name: volume, cloud-image: Fake Precise, flavor-name: Fake Flavor,
             boot-from-volume: true, volume-size: 80}
          - {name: lost, cloud-image: nowhere, flavor-name: Fake Flavor}
          - {name: by-id, cloud-image: fixed, flavor-name: Fake Flavor}
          - {name: six, cloud-image: fixed, flavor-name: Fake Flavor,
             networks: [fake-ipv6-network-name]}
          - {name: built, diskimage: trixie, flavor-name: Fake Flavor}
)";

class FakeDriverTest : public testing::Test {
 protected:
  FakeDriverTest() {
    environment_ = {
        {"OS_CLIENT_CONFIG_FILE", directory_.write("clouds.yaml", "clouds: {sky: {auth: {}}}")}};
  }

  // The provider, with these lines more in its section.
  std::shared_ptr<const FakeConfig> load(const std::string& more = "") {
    config::LoadOptions options;
    options.path = directory_.write("nodepool.yaml", kBeginning + more + kPools);
    options.drivers.schemas.emplace("fake", &driver().schema());
    const config::Config config = config::load(options).config;
    return std::dynamic_pointer_cast<const FakeConfig>(
        driver().configure(config.providers.at(0), config));
  }

  std::string load_error(const std::string& more) {
    try {
      load(more)->require_files();
    } catch (const config::ConfigError& error) {
      return error.what();
    }
    return "accepted";
  }

  FakeDriver driver() { return FakeDriver(environment_, clouds_); }

  LauncherProcess& start(const std::string& more = "") {
    const auto config = load(more);
    process_ =
        std::make_unique<LauncherProcess>(installation_, [&](driver::ProviderContext context) {
          return driver().provider(config, std::move(context));
        });
    process_->run(process_->provider().available());
    return *process_;
  }

  Node launch(const std::string& label) {
    const std::string id = installation_.add_node("fake-1", "main", label);
    const auto job = process_->launch(id);
    process_->run_until_ended(*job);
    EXPECT_EQ(job->failure(), "");
    return installation_.node(id);
  }

  test_support::TemporaryDirectory directory_;
  config::Environment environment_;
  std::shared_ptr<FakeClouds> clouds_ = std::make_shared<FakeClouds>();
  Installation installation_;
  std::unique_ptr<LauncherProcess> process_;
};

TEST_F(FakeDriverTest, the_configuration_is_that_of_openstack) {
  const auto config = load();
  EXPECT_EQ(config->cloud_entry(), "sky");
  EXPECT_EQ(config->region_name(), "north");
  EXPECT_EQ(config->label("main", "volume").volume_size, 80);
  EXPECT_EQ(config->cloud_name(), "fake-1");
  const config::DriverSchemas drivers{.schemas = {{"fake", &fake_schema()}}};
  EXPECT_THAT(config::validate(std::string(kBeginning) + kPools, "f", {}, drivers), IsEmpty());
}

TEST_F(FakeDriverTest, a_cloud_that_clouds_yaml_does_not_have_is_refused) {
  environment_ = {
      {"OS_CLIENT_CONFIG_FILE", directory_.write("clouds.yaml", "clouds: {sea: {auth: {}}}")}};
  EXPECT_THAT(load_error(""), HasSubstr("sky"));
}

TEST_F(FakeDriverTest, how_the_cloud_behaves_can_be_configured) {
  const FakeBehaviour usual = load()->behaviour();
  EXPECT_EQ(usual.boot_time, std::chrono::milliseconds(100));
  EXPECT_EQ(usual.latency, async::Duration(0));
  EXPECT_THAT(usual.limits,
              UnorderedElementsAre(Pair("instances", 20), Pair("cores", 100), Pair("ram", 1000000),
                                   Pair("volumes", 100), Pair("volume-gb", 1000000)));
  EXPECT_EQ(usual.create_failures.error, 0);

  const auto config = load(R"(
    fake-cloud:
      name: shared
      boot-time: 2
      delete-time: 3
      latency: 0.5
      limits: {instances: 7, cores: -1}
      failures: {create-error: 0.1, create-no-capacity: 0.2, create-lost-answer: 0.3,
                 create-broken: 0.4, delete: 0.5, list: 1}
)");
  EXPECT_EQ(config->cloud_name(), "shared");
  const FakeBehaviour& behaviour = config->behaviour();
  EXPECT_EQ(behaviour.boot_time, std::chrono::seconds(2));
  EXPECT_EQ(behaviour.delete_time, std::chrono::seconds(3));
  EXPECT_EQ(behaviour.latency, std::chrono::milliseconds(500));
  EXPECT_THAT(behaviour.limits,
              UnorderedElementsAre(Pair("instances", 7), Pair("ram", 1000000), Pair("volumes", 100),
                                   Pair("volume-gb", 1000000)));
  EXPECT_EQ(behaviour.create_failures.error, 0.1);
  EXPECT_EQ(behaviour.create_failures.no_capacity, 0.2);
  EXPECT_EQ(behaviour.create_failures.lost_answer, 0.3);
  EXPECT_EQ(behaviour.create_failures.broken, 0.4);
  EXPECT_EQ(behaviour.remove_failures, 0.5);
  EXPECT_EQ(behaviour.list_failures, 1);
}

TEST_F(FakeDriverTest, what_makes_no_sense_is_refused) {
  EXPECT_THAT(load_error("    fake-cloud: {boot-time: -1}\n"), HasSubstr("fake-cloud.boot-time"));
  EXPECT_THAT(load_error("    fake-cloud: {latency: .nan}\n"), HasSubstr("fake-cloud.latency"));
  EXPECT_THAT(load_error("    fake-cloud: {failures: {delete: 1.5}}\n"),
              HasSubstr("fake-cloud.failures.delete"));
}

TEST_F(FakeDriverTest, a_node_looks_as_it_does_with_the_python_nodepool) {
  start();
  const Node node = launch("small");
  EXPECT_EQ(node.interface_ip, "fake");
  EXPECT_EQ(node.public_ipv4, "fake");
  EXPECT_EQ(node.private_ipv4, "fake");
  EXPECT_EQ(node.public_ipv6, "");
  EXPECT_EQ(node.cloud, "sky");
  EXPECT_EQ(node.region, "north");
  EXPECT_EQ(node.az, "az1");
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(node.image_id, "Fake Precise");
  EXPECT_EQ(node.resources.text, R"({"cores": 4, "instances": 1, "ram": 8192})");
  EXPECT_THAT(node.host_keys, ElementsAre("ssh-rsa FAKEKEY"));
  const auto servers = clouds_->cloud("fake-1")->servers(installation_.clock.now());
  ASSERT_THAT(servers, testing::SizeIs(1));
  EXPECT_EQ(servers[0].spec.name, "np" + node.id);
  EXPECT_EQ(servers[0].spec.flavor, "Unreal Flavor");
  EXPECT_EQ(launch("six").interface_ip, "fake_v6");
}

TEST_F(FakeDriverTest, labels_that_cannot_be_served_report_the_reason) {
  start();
  const driver::Provider& provider = process_->provider();
  EXPECT_EQ(provider.offer()->label("main", "small").problem, "");
  EXPECT_EQ(provider.offer()->label("main", "huge").problem,
            "the cloud has no flavor with at least 100000 MiB");
  EXPECT_EQ(provider.offer()->label("main", "lost").problem,
            "images are not available: the cloud has no image nowhere");
  EXPECT_EQ(provider.offer()->label("main", "by-id").problem, "") << "it is not looked for";
  EXPECT_EQ(launch("by-id").state, model::NodeState::ready);
  EXPECT_EQ(
      provider.offer()->label("main", "volume").need,
      driver::Resources(
          {{"instances", 1}, {"cores", 4}, {"ram", 8192}, {"volumes", 1}, {"volume-gb", 80}}));
  EXPECT_THAT(provider.offer()->pool("main").zones, ElementsAre("az1", "az2"));
}

TEST_F(FakeDriverTest, an_image_that_a_builder_has_uploaded_to_its_own_cloud_will_do) {
  model::ImageUpload upload;
  upload.image = "trixie";
  upload.build_id = "b1";
  upload.provider = "fake-1";
  upload.set_state(model::UploadState::ready, 10);
  upload.external_id = model::json_string("of-another-process");
  installation_.add_upload(upload);
  start();
  EXPECT_EQ(launch("built").state, model::NodeState::ready);
  const auto servers = clouds_->cloud("fake-1")->servers(installation_.clock.now());
  ASSERT_THAT(servers, testing::SizeIs(1));
  EXPECT_EQ(servers[0].spec.image, "of-another-process");
}

TEST_F(FakeDriverTest, an_image_can_be_made_to_fail) {
  start();
  driver::ImageSupport& images = *process_->provider().images();
  const auto upload = [&](const driver::Metadata& metadata) {
    return process_->run(images.upload({}, "image", {}, metadata, [](std::uint64_t) {}));
  };
  EXPECT_THROW(upload({{"SHOULD_FAIL", "true"}}), driver::CloudError);
  EXPECT_THROW(upload({{"SHOULD_FAIL", "True"}}), driver::CloudError) << "a boolean as metadata";
  EXPECT_FALSE(upload({{"SHOULD_FAIL", "false"}}).empty());
}

TEST_F(FakeDriverTest, a_cloud_outlives_its_providers_and_behaves_as_the_last_says) {
  start("    fake-cloud: {limits: {instances: 1}}\n");
  const Node node = launch("small");
  start("    fake-cloud: {limits: {instances: 2}}\n");
  EXPECT_THAT(process_->run(process_->provider().available()),
              testing::Contains(Pair("instances", 2)));
  launch("small");
  EXPECT_THAT(clouds_->cloud("fake-1")->servers(installation_.clock.now()), testing::SizeIs(2));
}

TEST_F(FakeDriverTest, a_cloud_that_fails_now_and_then_gets_there_in_the_end) {
  start(R"(
    launch-retries: 100
    fake-cloud:
      limits: {instances: 1000, cores: -1, ram: -1}
      latency: 0.1
      failures: {create-error: 0.2, create-no-capacity: 0.1, create-lost-answer: 0.2,
                 create-broken: 0.1, list: 0.1}
)");
  for (int i = 0; i < 50; ++i) launch("small");
  EXPECT_THAT(clouds_->cloud("fake-1")->servers(installation_.clock.now()), testing::SizeIs(50));
  EXPECT_TRUE(std::ranges::any_of(installation_.log, [](const std::string& line) {
    return line.contains("Launch attempt 1/100 failed");
  })) << "it has failed";
}

}  // namespace
}  // namespace nodepool::drivers::fake
