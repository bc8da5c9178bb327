#include "drivers/example/example_adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/value.h"
#include "config/yaml.h"
#include "drivers/example/example_config.h"

namespace nodepool::drivers::example {
namespace {

using driver::CloudError;
using testing::IsEmpty;
using testing::SizeIs;
using State = driver::Machine::State;

class ExampleAdapterTest : public testing::Test {
 protected:
  static std::shared_ptr<const ExampleConfig> config() {
    config::ProviderSection section;
    section.name = "sky";
    section.driver = "example";
    section.value = config::parse_yaml(R"(
name: sky
region: north
cloud-images: [{name: debian, image-id: debian-12, key: ssh-rsa AAAA}, {name: broken}, {name: nix}]
pools:
  - name: main
    labels:
      - {name: small, cloud-image: debian, instance-type: small}
      - {name: sick, cloud-image: broken, instance-type: small}
      - {name: lost, cloud-image: nix, instance-type: small}
      - {name: bare, instance-type: small}
      - {name: odd, cloud-image: debian, instance-type: gigantic}
)",
                                       "f");
    config::Config top;
    for (const char* name : {"small", "sick", "lost", "bare", "odd"}) top.labels[name].name = name;
    return std::make_shared<ExampleConfig>(section, top);
  }

  std::string create(const std::string& label) {
    driver::CreateSpec spec;
    spec.node_id = "0000000001";
    spec.hostname = "np0000000001";
    spec.pool = "main";
    spec.label = label;
    spec.metadata = {{std::string(driver::kNodeIdKey), spec.node_id}};
    return adapter_.create_instance(spec);
  }

  template <typename Call>
  std::optional<CloudError::Kind> failure(Call call) {
    try {
      call();
    } catch (const CloudError& error) {
      return error.kind();
    }
    return std::nullopt;
  }

  std::shared_ptr<sample_cloud::Project> project_ = std::make_shared<sample_cloud::Project>();
  ExampleAdapter adapter_{config(), project_};
};

TEST_F(ExampleAdapterTest, a_machine_comes_and_goes) {
  const std::string id = create("small");
  EXPECT_EQ(project_->list_machines().at(0).spec.name, "np0000000001");
  EXPECT_EQ(project_->list_machines().at(0).spec.ssh_key, "ssh-rsa AAAA");
  const auto listing = adapter_.list_instances();
  ASSERT_THAT(listing, SizeIs(1));
  EXPECT_EQ(listing[0].external_id, model::json_string(id));
  EXPECT_EQ(listing[0].state, State::running);
  EXPECT_EQ(listing[0].metadata.at("nodepool_node_id"), "0000000001");
  EXPECT_EQ(listing[0].resources.amount("ram"), 2048);
  EXPECT_EQ(listing[0].interface_ip, listing[0].public_ipv4);
  EXPECT_NE(listing[0].interface_ip, listing[0].private_ipv4);
  EXPECT_EQ(listing[0].region, "north");
  adapter_.delete_instance(id);
  EXPECT_THAT(adapter_.list_instances(), IsEmpty());
  EXPECT_EQ(failure([&] { adapter_.delete_instance(id); }), CloudError::Kind::not_found);
}

TEST_F(ExampleAdapterTest, a_machine_starts_before_it_runs_or_fails) {
  create("small");
  create("sick");
  EXPECT_EQ(adapter_.list_instances().at(0).state, State::building);
  EXPECT_EQ(adapter_.list_instances().at(0).state, State::running);
  EXPECT_EQ(adapter_.list_instances().at(1).state, State::failed);
}

TEST_F(ExampleAdapterTest, what_the_cloud_refuses_has_a_kind) {
  EXPECT_EQ(failure([&] { create("lost"); }), CloudError::Kind::permanent);
  EXPECT_EQ(failure([&] { create("odd"); }), CloudError::Kind::permanent);
  EXPECT_EQ(failure([&] { adapter_.quota_for_label("main", "odd"); }), CloudError::Kind::permanent);
  for (int i = 0; i < 10; ++i) create("small");
  EXPECT_EQ(failure([&] { create("small"); }), CloudError::Kind::quota);
  EXPECT_EQ(adapter_.quota_limits().at("instances"), 10);
}

TEST_F(ExampleAdapterTest, a_label_needs_an_image_of_the_cloud) {
  EXPECT_EQ(adapter_.label_problem("main", "small"), std::nullopt);
  EXPECT_EQ(adapter_.label_problem("main", "lost"), "no image nix");
  EXPECT_EQ(adapter_.label_problem("main", "bare"), "the label has no cloud-image");
}

}  // namespace
}  // namespace nodepool::drivers::example
