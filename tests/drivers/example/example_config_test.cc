#include "drivers/example/example_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/registry.h"
#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::example {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExampleConfigTest : public ProviderConfigTest {
 protected:
  ExampleConfigTest() : ProviderConfigTest(all_drivers().schemas()) {}

  std::shared_ptr<const ExampleConfig> load(const std::string& text) {
    const config::Config config = read(text);
    return std::dynamic_pointer_cast<const ExampleConfig>(
        drivers_.driver("example").configure(config.providers.at(0), config));
  }

  std::string load_error(const std::string& text) {
    return error_of([&] { load(text); });
  }

  driver::DriverRegistry drivers_ = all_drivers();
};

constexpr auto kEverything = R"(
labels: [{name: small}, {name: windows}]
providers:
  - name: sky
    driver: example
    region: north
    project: ci
    boot-timeout: 30
    launch-retries: 5
    rate-limit: 7
    cloud-images:
      - {name: debian, image-id: debian-12, username: ci, key: ssh-ed25519 AAAA, python-path: /usr/bin/python3}
      - {name: windows-2022, connection-type: winrm}
    pools:
      - name: main
        max-servers: 4
        use-internal-ip: true
        labels:
          - {name: small, cloud-image: debian, instance-type: small}
          - {name: windows, cloud-image: windows-2022, instance-type: large}
)";

TEST_F(ExampleConfigTest, everything_can_be_set) {
  EXPECT_THAT(problems(kEverything), IsEmpty());
  const auto config = load(kEverything);
  EXPECT_EQ(config->region(), "north");
  EXPECT_EQ(config->project(), "ci");
  EXPECT_EQ(config->boot_timeout(), seconds(30));
  EXPECT_EQ(config->launch_retries(), 5);
  EXPECT_EQ(config->rate_limit(), 7);
  EXPECT_EQ(config->pools().at("main").max_servers, 4);
  EXPECT_THAT(config->pools().at("main").labels, ElementsAre("small", "windows"));
  EXPECT_TRUE(config->machine_pool("main").use_internal_ip);
  const ExampleLabel& small = config->label("main", "small");
  EXPECT_EQ(small.image.id, "debian-12");
  EXPECT_EQ(small.image.ssh_key, "ssh-ed25519 AAAA");
  EXPECT_EQ(small.instance_type, "small");
  const driver::MachineLabel& machine = config->machine_label("main", "small");
  EXPECT_EQ(machine.cloud_image, "debian");
  EXPECT_EQ(machine.access.username, "ci");
  EXPECT_EQ(machine.access.python_path, "/usr/bin/python3");
  EXPECT_EQ(machine.access.connection_port, 22);
  EXPECT_EQ(config->label("main", "windows").image.id, "windows-2022");
  EXPECT_EQ(config->machine_label("main", "windows").access.connection_port, 5986);
}

TEST_F(ExampleConfigTest, everything_has_its_documented_default) {
  const auto config = load(R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: example
    region: north
    project: ci
    cloud-images: [{name: debian-12}]
    pools: [{name: main, labels: [{name: small, cloud-image: debian-12, instance-type: small}]}]
)");
  EXPECT_EQ(config->boot_timeout(), seconds(60));
  EXPECT_EQ(config->launch_retries(), 3);
  EXPECT_EQ(config->rate_limit(), 1);
  EXPECT_FALSE(config->machine_pool("main").use_internal_ip);
  const driver::MachineLabel& machine = config->machine_label("main", "small");
  EXPECT_TRUE(machine.host_key_checking);
  EXPECT_EQ(machine.access.connection_type, "ssh");
  EXPECT_EQ(machine.access.python_path, "auto");
  EXPECT_EQ(machine.access.username, std::nullopt);
}

// What the daemons of the Python Nodepool start with.
TEST_F(ExampleConfigTest, a_daemon_is_content_with_less) {
  constexpr auto kText = R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: example
    pools:
      - name: main
        host-key-checking: false
        labels: [{name: small, instance-type: nano}]
)";
  EXPECT_FALSE(load(kText)->machine_label("main", "small").host_key_checking);
  EXPECT_THAT(problems(kText),
              testing::IsSupersetOf({HasSubstr("region"), HasSubstr("project"),
                                     HasSubstr("cloud-image"), HasSubstr("host-key-checking")}));
}

TEST_F(ExampleConfigTest, what_is_not_there_cannot_be_referred_to) {
  EXPECT_THAT(load_error(R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: example
    pools: [{name: main, labels: [{name: small, cloud-image: nix, instance-type: small}]}]
)"),
              HasSubstr("the provider has no cloud image `nix`"));
  EXPECT_THAT(load_error(R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: example
    pools: [{name: main, labels: [{name: smal, instance-type: small}]}]
)"),
              HasSubstr("smal"));
}

}  // namespace
}  // namespace nodepool::drivers::example
