#include "drivers/static_nodes/static_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/registry.h"
#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::static_nodes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::int64_t slots(const StaticProviderConfig& config, const std::string& pool,
                   std::string_view label) {
  const auto counts = driver::count_by_label(*config.offer().pool(pool).inventory);
  const auto found = counts.find(label);
  return found == counts.end() ? 0 : found->second;
}

class StaticConfigTest : public ProviderConfigTest {
 protected:
  StaticConfigTest() : ProviderConfigTest(all_drivers().schemas()) {}

  // The provider section of this text, read.
  std::shared_ptr<const StaticProviderConfig> load(const std::string& text) {
    const config::Config config = read(text);
    return std::dynamic_pointer_cast<const StaticProviderConfig>(
        drivers_.driver("static").configure(config.providers.at(0), config));
  }

  std::string load_error(const std::string& text) {
    return error_of([&] { load(text); });
  }

  driver::DriverRegistry drivers_ = all_drivers();
};

TEST_F(StaticConfigTest, everything_has_its_documented_default) {
  const auto config = load(R"(
labels: [{name: a}]
providers: [{name: rack, driver: static, pools: [{name: main, nodes: [{name: h, labels: [a]}]}]}]
)");
  ASSERT_THAT(config->hosts(), SizeIs(1));
  const Host& host = config->hosts().begin()->second;
  EXPECT_EQ(host.pool, "main");
  EXPECT_EQ(host.username, "zuul");
  EXPECT_EQ(host.timeout, 5);
  EXPECT_TRUE(host.host_key_checking);
  EXPECT_THAT(host.host_keys, IsEmpty());
  EXPECT_EQ(host.connection_port, 22);
  EXPECT_EQ(host.connection_type, "ssh");
  EXPECT_EQ(host.shell_type, std::nullopt);
  EXPECT_EQ(host.python_path, "auto");
  EXPECT_EQ(host.slots, 1);
  EXPECT_EQ(config->pools().at("main").priority, 100);
}

TEST_F(StaticConfigTest, everything_can_be_set) {
  const auto config = load(R"(
labels: [{name: one}, {name: two}]
providers:
  - name: rack
    driver: static
    priority: 7
    pools:
      - name: main
        node-attributes: {zone: z}
        nodes:
          - name: h
            labels: [one, two]
            username: ci
            timeout: 9
            host-key-checking: no
            host-key: ['ssh-ed25519 AAAA', 'ssh-rsa BBBB']
            connection-port: 5986
            connection-type: winrm
            shell-type: powershell
            python-path: /usr/bin/python3
            max-parallel-jobs: 3
      - {name: other, priority: 3, max-servers: 0, nodes: []}
)");
  const Host& host = config->hosts().begin()->second;
  EXPECT_THAT(host.labels, ElementsAre("one", "two"));
  EXPECT_THAT(host.host_keys, ElementsAre("ssh-ed25519 AAAA", "ssh-rsa BBBB"));
  EXPECT_FALSE(host.host_key_checking);
  EXPECT_FALSE(host.has_ssh());
  EXPECT_EQ(host.connection_port, 5986);
  EXPECT_EQ(host.shell_type, "powershell");
  EXPECT_EQ(slots(*config, "main", "two"), 3);
  EXPECT_EQ(slots(*config, "other", "two"), 0);
  EXPECT_EQ(config->pools().at("main").priority, 7);
  EXPECT_EQ(config->pools().at("main").node_attributes.text, R"({"zone": "z"})");
  EXPECT_EQ(config->pools().at("other").priority, 3);
  EXPECT_EQ(config->pools().at("other").max_servers, 0);
}

TEST_F(StaticConfigTest, labels_in_one_string_are_several_labels) {
  const auto config = load(R"(
labels: [{name: one}, {name: two}]
providers:
  - name: rack
    driver: static
    pools: [{name: main, nodes: [{name: h, labels: one two, host-key: ssh-rsa AAAA}]}]
)");
  const Host& host = config->hosts().begin()->second;
  EXPECT_THAT(host.labels, ElementsAre("one", "two"));
  EXPECT_THAT(host.host_keys, ElementsAre("ssh-rsa AAAA")) << "a key with its blank is one key";
  EXPECT_THAT(config->pools().at("main").labels, ElementsAre("one", "two"));
}

TEST_F(StaticConfigTest, the_old_name_of_the_port_is_read_and_reported) {
  const std::string text = R"(
labels: [{name: a}]
providers:
  - name: rack
    driver: static
    pools: [{name: main, nodes: [{name: h, labels: [a], ssh-port: 2022}]}]
)";
  EXPECT_EQ(load(text)->hosts().begin()->second.connection_port, 2022);
  EXPECT_THAT(problems(text), ElementsAre(HasSubstr("ssh-port")));
}

TEST_F(StaticConfigTest, integers_may_be_texts) {
  const std::string text = R"(
labels: [{name: a}]
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes:
          - {name: g, labels: [a], ssh-port: "2022"}
          - {name: h, labels: [a], connection-port: "2222", timeout: "9", max-parallel-jobs: "2"}
)";
  const auto config = load(text);
  EXPECT_EQ(config->hosts().begin()->second.connection_port, 2022);
  const Host& host = config->hosts().rbegin()->second;
  EXPECT_EQ(host.connection_port, 2222);
  EXPECT_EQ(host.timeout, 9);
  EXPECT_EQ(host.slots, 2);
  EXPECT_THAT(problems(text), testing::Contains(HasSubstr("timeout: must be an integer")));
}

TEST_F(StaticConfigTest, a_host_listed_twice_counts_once) {
  const auto config = load(R"(
labels: [{name: a}, {name: b}]
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes:
          - {name: h, labels: [a]}
          - {name: h, labels: [b]}
          - {name: h, labels: [b], connection-port: 23}
)");
  EXPECT_THAT(config->hosts(), SizeIs(2));
  EXPECT_EQ(slots(*config, "main", "a"), 0);
  EXPECT_EQ(slots(*config, "main", "b"), 2);
}

TEST_F(StaticConfigTest, a_timeout_without_end_is_a_century) {
  const auto config = load(R"(
labels: [{name: a}]
providers:
  - name: rack
    driver: static
    pools: [{name: main, nodes: [{name: h, labels: [a], timeout: .inf}]}]
)");
  EXPECT_EQ(std::chrono::seconds(config->hosts().begin()->second.timeout),
            std::chrono::days(36525));
}

TEST_F(StaticConfigTest, more_slots_than_a_store_could_hold_are_refused) {
  const auto text = [](const std::string& host_slots) {
    return "labels: [{name: a}]\n"
           "providers:\n"
           "  - name: rack\n"
           "    driver: static\n"
           "    pools: [{name: main, nodes: [{name: h, labels: [a], max-parallel-jobs: " +
           host_slots + "}]}]\n";
  };
  EXPECT_EQ(slots(*load(text("10000")), "main", "a"), 10000);
  for (const char* host_slots : {"10001", "10000000000", ".inf"}) {
    EXPECT_THAT(load_error(text(host_slots)),
                HasSubstr("nodes[0].max-parallel-jobs: must be at most 10000"))
        << host_slots;
  }
}

TEST_F(StaticConfigTest, an_undefined_label_is_refused_with_its_place) {
  EXPECT_THAT(load_error("labels: [{name: small}]\n"
                         "providers:\n"
                         "  - name: rack\n"
                         "    driver: static\n"
                         "    pools:\n"
                         "      - name: main\n"
                         "        nodes:\n"
                         "          - {name: h, labels: [smal]}\n"),
              testing::AllOf(HasSubstr(":8:"), HasSubstr("smal"), HasSubstr("small")));
}

TEST_F(StaticConfigTest, the_strict_check_names_everything_at_once) {
  const auto found = problems(R"(
labels: [{name: a}]
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes:
          - {name: h, labels: [5], timeout: soon, lables: [a]}
          - {labels: [nowhere]}
)");
  EXPECT_THAT(found, testing::IsSupersetOf({HasSubstr("timeout"), HasSubstr("lables"),
                                            HasSubstr("name"), HasSubstr("nowhere")}));
}

TEST_F(StaticConfigTest, only_a_real_change_makes_a_provider_another_one) {
  const std::string text =
      "labels: [{name: a}]\n"
      "providers: [{name: rack, driver: static, pools: [{name: main, nodes: [{name: h, labels: "
      "[a]}]}]}]\n";
  const auto config = load(text);
  EXPECT_TRUE(config->same_as(*load("# moved\n\n" + text)));
  std::string changed = text;
  changed.replace(changed.find("name: h"), 7, "name: i");
  EXPECT_FALSE(config->same_as(*load(changed)));
}

}  // namespace
}  // namespace nodepool::drivers::static_nodes
