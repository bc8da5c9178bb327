#include "drivers/openstack/config/openstack_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/openstack/config/openstack_schema.h"
#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::openstack {
namespace {

using namespace std::chrono_literals;
using driver::Limits;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class OpenStackConfigTest : public ProviderConfigTest {
 protected:
  OpenStackConfigTest() : ProviderConfigTest({.schemas = {{"openstack", &openstack_schema()}}}) {
    write_clouds("clouds: {fake: {auth: {auth_url: 'http://k'}}}");
  }

  void write_clouds(const std::string& text) {
    environment_ = {{"OS_CLIENT_CONFIG_FILE", directory_.write("clouds.yaml", text)}};
  }

  // The first provider of this text, read.
  std::shared_ptr<const OpenStackConfig> load(const std::string& text) {
    const config::Config config = read(text);
    return std::make_shared<OpenStackConfig>(config.providers.at(0), config, environment_);
  }

  std::string load_error(const std::string& text) {
    return error_of([&] { load(text)->require_files(); });
  }

  config::Environment environment_;
};

constexpr const char* kLeast = R"(
labels: [{name: small}]
providers:
  - name: cloud-a
    cloud: fake
    cloud-images: [{name: jammy}]
    pools:
      - name: p1
        labels: [{name: small, cloud-image: jammy, min-ram: 512}]
)";

TEST_F(OpenStackConfigTest, everything_has_its_documented_default) {
  EXPECT_THAT(problems(kLeast), IsEmpty());
  const auto config = load(kLeast);
  EXPECT_EQ(config->name(), "cloud-a");
  EXPECT_EQ(config->account().name, "fake");
  EXPECT_EQ(config->region_name(), std::nullopt);
  EXPECT_EQ(config->rate(), 1.0);
  EXPECT_EQ(config->boot_timeout(), 60s);
  EXPECT_EQ(config->launch_timeout(), 3600s);
  EXPECT_EQ(config->launch_retries(), 3);
  EXPECT_EQ(config->image_upload_timeout(), 3600s);
  EXPECT_FALSE(config->clean_floating_ips());
  EXPECT_EQ(config->port_cleanup_interval(), 600s);
  EXPECT_EQ(config->managed_images(),
            (driver::ManagedImages{.format = "qcow2", .post_upload_hook = {}, .images = {}}));

  const driver::PoolConfig& pool = config->pools().at("p1");
  EXPECT_THAT(pool.labels, ElementsAre("small"));
  EXPECT_THAT(pool.limits, IsEmpty());
  EXPECT_FALSE(pool.ignore_provider_quota);
  EXPECT_THAT(config->machine_pool("p1").zones, IsEmpty());
  EXPECT_FALSE(config->machine_pool("p1").use_internal_ip);
  EXPECT_TRUE(config->pool("p1").auto_floating_ip);
  EXPECT_THAT(config->pool("p1").security_groups, IsEmpty());

  const driver::MachineLabel& machine = config->machine_label("p1", "small");
  EXPECT_EQ(machine.cloud_image, "jammy");
  EXPECT_EQ(machine.access, driver::ImageAccess{});
  EXPECT_TRUE(machine.host_key_checking);
  EXPECT_FALSE(machine.console_log);
  const OpenStackLabel& label = config->label("p1", "small");
  EXPECT_EQ(label.cloud_image, (CloudImageReference{.id = "", .name = "jammy"}));
  EXPECT_EQ(label.min_ram, 512);
  EXPECT_EQ(label.flavor_name, std::nullopt);
  EXPECT_EQ(label.key_name, std::nullopt);
  EXPECT_FALSE(label.boot_from_volume);
  EXPECT_EQ(label.volume_size, 50);
  EXPECT_FALSE(label.config_drive);
  EXPECT_EQ(label.userdata, std::nullopt);
  EXPECT_THAT(label.networks, IsEmpty());
}

constexpr const char* kFull = R"(
labels: [{name: l}, {name: m}]
diskimages:
  - {name: built, username: ci, python-path: /usr/bin/python3, shell-type: sh}
  - {name: winbuilt}
providers:
  - name: os
    driver: openstack
    cloud: fake
    region-name: north
    rate: '0.001'
    boot-timeout: 10
    launch-timeout: 20
    launch-retries: 1
    nodepool-id: x
    image-name-format: "ci-{image_name}-{timestamp}"
    image-upload-timeout: 30
    post-upload-hook: /usr/bin/hook
    clean-floating-ips: true
    port-cleanup-interval: 0
    diskimages:
      - {name: built, pause: true, meta: {owner: ci, level: 3}, config-drive: true}
      - {name: winbuilt, connection-type: winrm}
    cloud-images:
      - {name: a, image-id: 11111111-2222, config-drive: true, username: u, python-path: p,
         shell-type: s, connection-type: winrm}
      - {name: b, image-name: jammy, connection-type: network_cli, connection-port: 2222}
    pools:
      - name: p
        max-servers: 5
        max-cores: 10
        max-ram: 2048
        max-volumes: 3
        max-volume-gb: 100
        ignore-provider-quota: true
        availability-zones: [az1, az2]
        networks: [priv]
        security-groups: [sg]
        auto-floating-ip: false
        host-key-checking: false
        node-attributes: {key: value}
        labels:
          - {name: l, cloud-image: a, min-ram: 2048, flavor-name: perf, key-name: k, networks: [],
             console-log: true, boot-from-volume: true, volume-size: 80, host-key-checking: true,
             instance-properties: {a: b, n: 1}, userdata: "#cloud-config\n",
             dynamic-instance-properties: {req: '{request.id}'}}
          - {name: m, diskimage: built, flavor-name: f}
)";

TEST_F(OpenStackConfigTest, every_key_is_read) {
  const auto config = load(kFull);
  EXPECT_EQ(config->region_name(), "north");
  EXPECT_EQ(config->rate(), 1000);
  EXPECT_EQ(config->boot_timeout(), 10s);
  EXPECT_EQ(config->launch_timeout(), 20s);
  EXPECT_EQ(config->launch_retries(), 1);
  EXPECT_EQ(config->image_upload_timeout(), 30s);
  EXPECT_TRUE(config->clean_floating_ips());
  EXPECT_EQ(config->port_cleanup_interval(), 0s);

  const driver::ManagedImages& images = *config->managed_images();
  EXPECT_EQ(images.name_format, "ci-{image_name}-{timestamp}");
  EXPECT_EQ(images.post_upload_hook, "/usr/bin/hook");
  const driver::ProviderImage& built = images.images.at("built");
  EXPECT_TRUE(built.pause);
  EXPECT_THAT(built.meta, ElementsAre(Pair("level", "3"), Pair("owner", "ci")));
  EXPECT_EQ(built.access, (driver::ImageAccess{.username = "ci",
                                               .python_path = "/usr/bin/python3",
                                               .shell_type = "sh",
                                               .connection_type = "ssh",
                                               .connection_port = 22}));
  EXPECT_EQ(images.images.at("winbuilt").access.connection_port, 5986);

  const driver::PoolConfig& pool = config->pools().at("p");
  EXPECT_EQ(
      pool.limits,
      (Limits{{"instances", 5}, {"cores", 10}, {"ram", 2048}, {"volumes", 3}, {"volume-gb", 100}}));
  EXPECT_TRUE(pool.ignore_provider_quota);
  EXPECT_THAT(config->machine_pool("p").zones, ElementsAre("az1", "az2"));
  EXPECT_FALSE(config->pool("p").auto_floating_ip);
  EXPECT_THAT(config->pool("p").security_groups, ElementsAre("sg"));
}

TEST_F(OpenStackConfigTest, every_key_of_a_label_is_read) {
  const auto config = load(kFull);
  const OpenStackLabel& l = config->label("p", "l");
  EXPECT_EQ(l.cloud_image->id, "11111111-2222");
  EXPECT_EQ(l.min_ram, 2048);
  EXPECT_EQ(l.flavor_name, "perf");
  EXPECT_EQ(l.key_name, "k");
  EXPECT_THAT(l.networks, IsEmpty());
  EXPECT_TRUE(l.boot_from_volume);
  EXPECT_EQ(l.volume_size, 80);
  EXPECT_TRUE(l.config_drive);
  EXPECT_THAT(l.instance_properties, ElementsAre(Pair("a", "b"), Pair("n", "1")));
  EXPECT_THAT(l.dynamic_instance_properties, ElementsAre(Pair("req", "{request.id}")));
  EXPECT_EQ(l.userdata, "#cloud-config\n");
  EXPECT_TRUE(config->machine_label("p", "l").host_key_checking);
  EXPECT_TRUE(config->machine_label("p", "l").console_log);
  EXPECT_EQ(config->machine_label("p", "l").access.connection_port, 5986);
  EXPECT_EQ(config->machine_label("p", "l").access.username, "u");

  const OpenStackLabel& m = config->label("p", "m");
  EXPECT_EQ(m.cloud_image, std::nullopt);
  EXPECT_THAT(m.networks, ElementsAre("priv"));
  EXPECT_TRUE(m.config_drive);
  EXPECT_EQ(config->machine_label("p", "m").diskimage, "built");
  EXPECT_EQ(config->machine_label("p", "m").access.username, "ci");
  EXPECT_FALSE(config->machine_label("p", "m").host_key_checking);
}

TEST_F(OpenStackConfigTest, images_can_be_uploaded_without_pools) {
  const std::string text = R"(
diskimages: [{name: jammy, elements: [vm]}]
providers:
  - {name: up, cloud: fake, diskimages: [{name: jammy, pause: true, meta: {owner: ci}}]}
)";
  EXPECT_THAT(problems(text), IsEmpty());
  EXPECT_TRUE(load(text)->managed_images()->images.at("jammy").pause);
}

// Like the Python Nodepool.
TEST_F(OpenStackConfigTest, a_diskimage_that_the_provider_does_not_list_is_a_warning) {
  const auto config = load(R"(
labels: [{name: l}]
diskimages: [{name: built, username: ci}]
providers: [{name: p, cloud: fake, pools: [{name: q, labels: [{name: l, diskimage: built}]}]}]
)");
  EXPECT_THAT(config->config_warnings(), IsEmpty());
  ASSERT_EQ(config->validation_warnings().size(), 1U);
  EXPECT_THAT(to_string(config->validation_warnings().front()),
              HasSubstr("the provider's `diskimages` do not have `built`"));
  EXPECT_EQ(config->machine_label("q", "l").access.username, "ci");
}

TEST_F(OpenStackConfigTest, the_properties_of_an_image_can_be_any_values) {
  const std::string text = R"(
diskimages: [{name: jammy, elements: [vm]}]
providers:
  - name: up
    cloud: fake
    diskimages: [{name: jammy, meta: {tags: [ci, debian], a: {b: 1}, c: 22.04, d: true, e: null}}]
)";
  EXPECT_THAT(problems(text), IsEmpty());
  EXPECT_THAT(load(text)->managed_images()->images.at("jammy").meta,
              ElementsAre(Pair("a", R"({"b":1})"), Pair("c", "22.04"), Pair("d", "True"),
                          Pair("e", ""), Pair("tags", R"(["ci","debian"])")));
  EXPECT_THAT(
      load_error("diskimages: [{name: jammy}]\n"
                 "providers: [{name: p, cloud: fake, diskimages: [{name: jammy, meta: x}]}]"),
      HasSubstr("meta: must be a mapping"));
}

TEST_F(OpenStackConfigTest, an_import_of_an_image_is_a_warning) {
  const auto config = load(R"(
diskimages: [{name: jammy, elements: [vm], metadata: {import_method: web-download, d: e}}]
providers:
  - {name: up, cloud: fake, diskimages: [{name: jammy, meta: {use_import: true, stores: [a], b: c}}]}
)");
  std::vector<std::string> warnings;
  for (const auto& warning : config->config_warnings()) warnings.push_back(to_string(warning));
  EXPECT_THAT(
      warnings,
      ElementsAre(HasSubstr("diskimages[0].meta: `use_import` has no effect"),
                  HasSubstr("diskimages[0].name: `import_method` in the image's `metadata` has no"),
                  HasSubstr("diskimages[0].meta: `stores` has no effect")));
}

TEST_F(OpenStackConfigTest, uploads_by_tasks_are_a_warning) {
  write_clouds("clouds: {fake: {auth: {auth_url: 'http://k'}, image_api_use_tasks: true}}");
  EXPECT_THAT(load(kLeast)->config_warnings(), IsEmpty());
  const auto config = load(R"(
diskimages: [{name: jammy, elements: [vm]}]
providers: [{name: up, cloud: fake, diskimages: [{name: jammy}]}]
)");
  ASSERT_EQ(config->config_warnings().size(), 1U);
  EXPECT_THAT(to_string(config->config_warnings().front()),
              HasSubstr("diskimages: uploads will fail: `image_api_use_tasks`"));
}

TEST_F(OpenStackConfigTest, the_strict_check_finds_what_daemons_forgive) {
  EXPECT_THAT(problems("labels: [{name: l}]\nproviders:\n  - name: p\n    pools:\n      - name: q\n"
                       "        use-internal-ip: true\n        labels: [{name: l}]\n"),
              AllOf(testing::Contains(HasSubstr("`cloud`")),
                    testing::Contains(HasSubstr("f:6:9: providers[0] (p).pools[0]")),
                    testing::Contains(HasSubstr("`diskimage`")),
                    testing::Contains(HasSubstr("`min-ram`"))));
}

TEST_F(OpenStackConfigTest, a_time_limit_without_end_is_a_century) {
  const auto config = load(
      "providers: [{name: p, cloud: fake, launch-timeout: 9999999999, boot-timeout: .inf,\n"
      "             image-upload-timeout: 1.0e+300, port-cleanup-interval: 9999999999}]");
  for (const async::Duration limit :
       {config->launch_timeout(), config->boot_timeout(), config->image_upload_timeout(),
        config->port_cleanup_interval()}) {
    EXPECT_EQ(limit, std::chrono::days(36525));
  }
}

TEST_F(OpenStackConfigTest, a_label_without_an_image_or_flavor_loads) {
  const auto config = load(R"(
labels: [{name: l}]
providers: [{name: p, pools: [{name: q, labels: [{name: l}]}]}]
)");
  EXPECT_EQ(config->account().name, "fake");
  EXPECT_THAT(config->machine_label("q", "l").diskimage, IsEmpty());
  EXPECT_THAT(config->machine_label("q", "l").cloud_image, IsEmpty());
}

TEST_F(OpenStackConfigTest, what_cannot_work_is_refused_with_its_place) {
  EXPECT_THAT(load_error("providers: [{name: p, cloud: none}]"),
              AllOf(HasSubstr("nodepool.yaml:1:"), HasSubstr("providers[0] (p).cloud"),
                    HasSubstr("cloud none not found")));
  EXPECT_THAT(load_error("providers:\n  - name: p\n    cloud: fake\n    rate:\n"),
              HasSubstr("nodepool.yaml:4:"));
  EXPECT_THAT(load_error("providers: [{name: p, cloud: fake, diskimages: [{name: nope}]}]\n"
                         "diskimages: [{name: right}]"),
              HasSubstr("nope"));
  EXPECT_THAT(load_error("labels: [{name: l}]\nproviders:\n  - name: p\n    cloud: fake\n"
                         "    pools: [{name: q, labels: [{name: l, cloud-image: nope}]}]"),
              AllOf(HasSubstr("nodepool.yaml:5:"), HasSubstr("`nope`")));
  EXPECT_THAT(load_error("providers:\n  - name: p\n    cloud: fake\n"
                         "    pools: [{name: q, labels: [{name: l}]}]"),
              HasSubstr("nodepool.yaml:4:"));
}

TEST_F(OpenStackConfigTest, an_image_is_validated_with_a_label_that_is_made_from_it) {
  const auto text = [](const std::string& validate, const std::string& pool = {}) {
    return "labels: [{name: l}, {name: m}]\ndiskimages: [{name: d}, {name: e}]\n"
           "providers:\n  - name: p\n    cloud: fake\n"
           "    diskimages: [{name: d, validate: {" +
           validate +
           "}}, {name: e}]\n"
           "    pools: [{name: q, " +
           pool + "labels: [{name: l, diskimage: d}, {name: m, diskimage: e}]}]\n";
  };
  const auto validation = [&](const std::string& validate) {
    return load(text(validate))->managed_images()->images.at("d").validation;
  };
  EXPECT_EQ(validation("label: l"), (driver::ImageValidation{"q", "l", "", 600s}));
  EXPECT_EQ(validation("label: l, command: 'test -e /x', timeout: 5"),
            (driver::ImageValidation{"q", "l", "test -e /x", 5s}));
  EXPECT_THAT(load_error(text("label: m")),
              AllOf(HasSubstr("nodepool.yaml:6:"), HasSubstr("validate.label"), HasSubstr("`m`")));
  EXPECT_THAT(load_error(text("label: l", "host-key-checking: false, ")),
              HasSubstr("`host-key-checking`"));
  EXPECT_THAT(load_error(text("command: 'true'")), HasSubstr("label"));
}

TEST_F(OpenStackConfigTest, a_broken_clouds_yaml_is_named_itself) {
  write_clouds("clouds:\n  fake: {\n");
  EXPECT_THAT(load_error(kLeast), HasSubstr("clouds.yaml:"));
}

TEST_F(OpenStackConfigTest, a_change_of_how_a_diskimage_is_used_is_a_change) {
  const auto text = [](const std::string& image) {
    return R"(
labels: [{name: l}]
diskimages: [{name: deb, )" +
           image + R"(}]
providers:
  - name: p
    cloud: fake
    diskimages: [{name: deb}]
    pools: [{name: q, labels: [{name: l, diskimage: deb, min-ram: 1}]}]
)";
  };
  const auto before = load(text("username: ada"));
  EXPECT_TRUE(before->same_as(*load(text("username: ada, elements: [vm]"))));
  for (const char* image :
       {"username: bob", "username: ada, python-path: /py", "username: ada, shell-type: cmd"}) {
    EXPECT_FALSE(before->same_as(*load(text(image)))) << image;
  }
}

TEST_F(OpenStackConfigTest, a_change_of_clouds_yaml_is_a_change) {
  const auto before = load(kLeast);
  EXPECT_TRUE(before->same_as(*load(kLeast)));
  write_clouds("clouds: {fake: {auth: {auth_url: 'http://other'}}}");
  EXPECT_FALSE(before->same_as(*load(kLeast)));
}

TEST_F(OpenStackConfigTest, the_environment_names_authorities_unless_clouds_yaml_does) {
  const std::string private_ca = directory_.write("private.pem", "");
  const auto trusted = [&](const std::string& tls) {
    write_clouds("clouds: {fake: {auth: {auth_url: 'http://k'}" + tls + "}}");
    environment_.emplace_back("CURL_CA_BUNDLE", private_ca);
    return load(kLeast)->account().cacert;
  };
  EXPECT_EQ(trusted(""), private_ca);
  EXPECT_EQ(trusted(", cacert: /etc/ssl/own.pem"), "/etc/ssl/own.pem");
  EXPECT_EQ(trusted(", verify: false"), "");
  environment_.emplace_back("REQUESTS_CA_BUNDLE", "/no/such/ca.pem");
  EXPECT_EQ(load_error(kLeast), "accepted") << "it is not verified";
  write_clouds("clouds: {fake: {auth: {auth_url: 'http://k'}}}");
  environment_.emplace_back("REQUESTS_CA_BUNDLE", "/no/such/ca.pem");
  EXPECT_THAT(load_error(kLeast), HasSubstr("REQUESTS_CA_BUNDLE: /no/such/ca.pem: "));
}

}  // namespace
}  // namespace nodepool::drivers::openstack
