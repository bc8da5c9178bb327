#include "drivers/aws/config/aws_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/aws/config/aws_schema.h"
#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::aws {
namespace {

using namespace std::chrono_literals;
using driver::Limits;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class AwsConfigTest : public ProviderConfigTest {
 protected:
  AwsConfigTest() : ProviderConfigTest({.schemas = {{"aws", &aws_schema()}}}) {}

  std::shared_ptr<const AwsConfig> load(const std::string& text) {
    const config::Config config = read(text);
    return std::make_shared<AwsConfig>(config.providers.at(0), config, environment_);
  }

  std::string load_error(const std::string& text) {
    return error_of([&] { load(text)->require_files(); });
  }

  config::Environment environment_ = {{"AWS_ACCESS_KEY_ID", "a"}, {"AWS_SECRET_ACCESS_KEY", "b"}};
};

constexpr const char* kLeast = R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: aws
    region-name: north-1
    cloud-images: [{name: jammy, username: ci, image-id: ami-1}]
    pools:
      - name: main
        labels: [{name: small, cloud-image: jammy, instance-type: t3.nano, key-name: k}]
)";

TEST_F(AwsConfigTest, everything_has_its_documented_default) {
  EXPECT_THAT(problems(kLeast), IsEmpty());
  const auto config = load(kLeast);
  EXPECT_EQ(config->account().region, "north-1");
  EXPECT_EQ(config->rate(), 2);
  EXPECT_EQ(config->boot_timeout(), 180s);
  EXPECT_EQ(config->launch_timeout(), 3600s);
  EXPECT_EQ(config->launch_retries(), 3);
  EXPECT_THAT(config->pools().at("main").limits, IsEmpty());
  EXPECT_THAT(config->machine_pool("main").zones, IsEmpty());
  EXPECT_FALSE(config->machine_pool("main").use_internal_ip);
  const AwsPool& pool = config->pool("main");
  EXPECT_TRUE(pool.public_ipv4);
  EXPECT_FALSE(pool.public_ipv6);
  EXPECT_EQ(pool.subnet_id, std::nullopt);
  const driver::MachineLabel& machine = config->machine_label("main", "small");
  EXPECT_EQ(machine.access.username, "ci");
  EXPECT_TRUE(machine.host_key_checking);
  const AwsLabel& label = config->label("main", "small");
  EXPECT_EQ(label.cloud_image->id, "ami-1");
  EXPECT_FALSE(label.ebs_optimized);
  EXPECT_FALSE(label.use_spot);
  EXPECT_EQ(label.imdsv2, "");
  EXPECT_EQ(label.volume.size, std::nullopt);
}

constexpr const char* kFull = R"(
labels: [{name: l}, {name: m}]
providers:
  - name: sky
    driver: aws
    region-name: north-1
    rate: 0.5
    boot-timeout: 10
    launch-timeout: 20
    launch-retries: 1
    max-servers: 9
    max-cores: 90
    max-ram: 900
    max-resources: {L-1: 5, L-2: 6}
    cloud-images:
      - name: a
        username: u
        image-filters: [{name: name, values: [x*, y]}, {Name: owner-id, Values: ['1']}]
        python-path: p
        shell-type: s
        connection-type: winrm
    pools:
      - name: p
        max-servers: 5
        max-resources: {L-2: 7}
        availability-zone: north-1a
        subnet-id: subnet-1
        security-group-id: sg-1
        public-ipv4: true
        public-ip-address: false
        public-ipv6: true
        host-key-checking: false
        labels:
          - {name: l, cloud-image: a, instance-type: m5.large, key-name: k, ebs-optimized: true,
             volume-type: io2, volume-size: 80, iops: 1000, throughput: 125, userdata: u,
             iam-instance-profile: {arn: 'arn:x'}, tags: {a: 1}, dynamic-tags: {r: '{request.id}'},
             use-spot: true, imdsv2: required, console-log: true}
      - name: q
        labels: [{name: m, cloud-image: a, instance-type: m5.large, key-name: k, imdsv2: null}]
)";

TEST_F(AwsConfigTest, every_key_is_read) {
  const auto config = load(kFull);
  EXPECT_EQ(config->rate(), 0.5);
  EXPECT_EQ(config->boot_timeout(), 10s);
  EXPECT_EQ(config->launch_retries(), 1);
  EXPECT_EQ(config->pools().at("p").limits,
            (Limits{{"instances", 5}, {"cores", 90}, {"ram", 900}, {"L-1", 5}, {"L-2", 7}}));
  EXPECT_EQ(config->pools().at("q").max_servers, 9);
  EXPECT_THAT(config->machine_pool("p").zones, ElementsAre("north-1a"));
  const AwsPool& pool = config->pool("p");
  EXPECT_FALSE(pool.public_ipv4) << "the old name goes over the new one";
  EXPECT_TRUE(pool.public_ipv6);
  EXPECT_EQ(pool.subnet_id, "subnet-1");
  EXPECT_EQ(pool.security_group_id, "sg-1");
  EXPECT_FALSE(config->machine_label("p", "l").host_key_checking);
  EXPECT_TRUE(config->machine_label("p", "l").console_log);
  EXPECT_EQ(config->machine_label("p", "l").access.connection_port, 5986);
  const AwsLabel& label = config->label("p", "l");
  EXPECT_EQ(label.cloud_image->filters,
            (std::vector<ImageFilter>{{"name", {"x*", "y"}}, {"owner-id", {"1"}}}));
  EXPECT_EQ(label.instance_type, "m5.large");
  EXPECT_TRUE(label.ebs_optimized);
  EXPECT_EQ(label.volume.type, "io2");
  EXPECT_EQ(label.volume.size, 80);
  EXPECT_EQ(label.volume.iops, 1000);
  EXPECT_EQ(label.volume.throughput, 125);
  EXPECT_EQ(label.userdata, "u");
  EXPECT_EQ(label.profile_arn, "arn:x");
  EXPECT_THAT(label.tags, ElementsAre(Pair("a", "1")));
  EXPECT_THAT(label.dynamic_tags, ElementsAre(Pair("r", "{request.id}")));
  EXPECT_TRUE(label.use_spot);
  EXPECT_EQ(label.imdsv2, "required");
}

// A provider that differs from kLeast in one place.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kLeast;
  return text.replace(text.find(from), from.size(), to);
}

TEST_F(AwsConfigTest, images_are_imported_from_a_bucket_or_written_directly) {
  const std::string image = "labels: [{name: small}]\ndiskimages: [{name: built, username: u}]";
  const auto with = [&image](const std::string& more) {
    std::string text = changed("labels: [{name: small}]", image);
    return text.replace(text.find("    pools:"), 0, more);
  };
  const std::string bucket = "    object-storage: {bucket-name: images}\n";
  EXPECT_THAT(load_error(with("    diskimages: [{name: built}]\n")),
              HasSubstr("`import-method: snapshot` requires the provider's `object-storage`"));
  EXPECT_THAT(load_error(with(bucket + "    diskimages: [{name: built, import-method: image,\n"
                                       "                  imds-support: v2.0}]\n")),
              HasSubstr("imds-support"));
  using Method = UploadOptions::Method;
  const auto imported =
      load(with(bucket + "    image-format: vmdk\n"
                         "    image-import-timeout: 60\n"
                         "    diskimages: [{name: built, imds-support: v2.0}]\n"));
  EXPECT_EQ(imported->upload("built").method, Method::snapshot);
  EXPECT_EQ(imported->managed_images()->format, "vmdk");
  EXPECT_EQ(imported->bucket(), "images");
  EXPECT_EQ(imported->import_timeout(), 60s);
  EXPECT_EQ(load(with(bucket + "    diskimages: [{name: built, import-method: image}]\n"))
                ->upload("built")
                .method,
            Method::image);
  EXPECT_THAT(load_error(with("    image-format: vhd\n"
                              "    diskimages: [{name: built, import-method: ebs-direct}]\n")),
              HasSubstr("requires the format `raw`"));
  const auto config = load(with(
      "    diskimages: [{name: built, import-method: ebs-direct, python-path: p, tags: {a: 1},\n"
      "                  architecture: arm64, imds-support: v2.0, volume-size: 20}]\n"));
  const driver::ProviderImage& built = config->managed_images()->images.at("built");
  EXPECT_EQ(config->managed_images()->format, "raw");
  EXPECT_EQ(built.access.username, "u");
  EXPECT_EQ(built.access.python_path, "p");
  EXPECT_THAT(built.meta, ElementsAre(Pair("a", "1")));
  EXPECT_EQ(config->upload("built").method, Method::ebs_direct);
  EXPECT_EQ(config->bucket(), "");
  EXPECT_EQ(config->import_timeout(), 0s);
  EXPECT_EQ(config->upload("built").architecture, "arm64");
  EXPECT_EQ(config->upload("built").imds_support, "v2.0");
  EXPECT_EQ(config->upload("built").volume.type, "gp3");
  EXPECT_EQ(config->upload("built").volume.size, 20);
}

TEST_F(AwsConfigTest, a_fleet_has_types_and_a_strategy) {
  const auto config =
      load(changed("instance-type: t3.nano",
                   "fleet: {instance-types: [a, b], allocation-strategy: prioritized}"));
  const AwsLabel& label = config->label("main", "small");
  EXPECT_THAT(label.fleet->instance_types, ElementsAre("a", "b"));
  EXPECT_EQ(label.fleet->allocation_strategy, "prioritized");
}

TEST_F(AwsConfigTest, a_dedicated_host_is_in_a_zone_and_not_spot) {
  EXPECT_THAT(load_error(changed("key-name: k", "key-name: k, dedicated-host: true")),
              HasSubstr("a dedicated host needs the pool's `availability-zone`"));
  EXPECT_THAT(
      load_error(changed("key-name: k", "key-name: k, dedicated-host: true, use-spot: true")),
      HasSubstr("a dedicated host does not go with `use-spot`"));
}

TEST_F(AwsConfigTest, references_and_conditions_are_checked) {
  EXPECT_THAT(load_error(changed("cloud-image: jammy", "cloud-image: gone")),
              HasSubstr("the provider has no cloud image `gone`"));
}

TEST_F(AwsConfigTest, a_label_needs_a_diskimage_that_the_provider_lists) {
  const std::string top_level = "diskimages: [{name: built}, {name: build}]";
  std::string text = top_level + changed("cloud-image: jammy", "diskimage: build");
  EXPECT_THAT(load_error(text),
              HasSubstr("labels[0].diskimage: the provider's `diskimages` do not have `build`"));
  text.insert(text.find("    pools:"),
              "    diskimages: [{name: built, import-method: ebs-direct}]\n");
  EXPECT_THAT(load_error(text), HasSubstr("do not have `build` (did you mean `built`?)"));
}

TEST_F(AwsConfigTest, a_label_without_an_image_loads) {
  const auto none = load(changed("image-id: ami-1", "python-path: auto"));
  EXPECT_FALSE(none->label("main", "small").cloud_image);
  const auto both = load(
      changed("image-id: ami-1", "image-id: ami-1, image-filters: [{name: name, values: [x]}]"));
  EXPECT_EQ(both->label("main", "small").cloud_image->id, "ami-1");
}

TEST_F(AwsConfigTest, a_dedicated_host_with_a_fleet_loads) {
  const auto config =
      load(changed("        labels: [{name: small, cloud-image: jammy,"
                   " instance-type: t3.nano, key-name: k}]",
                   "        availability-zone: z\n"
                   "        labels: [{name: small, cloud-image: jammy, key-name: k,"
                   " dedicated-host: true, fleet: {instance-types: [a],"
                   " allocation-strategy: prioritized}}]"));
  EXPECT_TRUE(config->label("main", "small").dedicated_host);
  EXPECT_TRUE(config->label("main", "small").fleet);
}

TEST_F(AwsConfigTest, what_only_daemons_accept_is_refused_by_the_strict_check) {
  const std::string text = changed("    region-name: north-1",
                                   "    region-name: north-1\n"
                                   "    use-internal-ip: true\n"
                                   "    host-key-checking: false");
  EXPECT_EQ(problems(text).size(), 2U);
  const auto config = load(text);
  EXPECT_TRUE(config->machine_pool("main").use_internal_ip);
  EXPECT_FALSE(config->machine_label("main", "small").host_key_checking);
}

TEST_F(AwsConfigTest, another_account_is_another_provider) {
  const auto one = load(kLeast);
  EXPECT_TRUE(one->same_as(*load(kLeast)));
  environment_[0].second = "other";
  EXPECT_FALSE(one->same_as(*load(kLeast)));
}

TEST_F(AwsConfigTest, the_environment_names_authorities) {
  const std::string private_ca = directory_.write("private.pem", "");
  environment_.emplace_back("CURL_CA_BUNDLE", "/no/such/ca.pem");
  EXPECT_EQ(load(kLeast)->account().ca_file, "");
  environment_.emplace_back("REQUESTS_CA_BUNDLE", private_ca);
  EXPECT_EQ(load(kLeast)->account().ca_file, private_ca);
  std::filesystem::remove(private_ca);
  EXPECT_THAT(load_error(kLeast), HasSubstr("REQUESTS_CA_BUNDLE: " + private_ca + ": "));
  environment_.emplace_back("AWS_CA_BUNDLE", "/etc/ssl/aws.pem");
  EXPECT_EQ(load(kLeast)->account().ca_file, "/etc/ssl/aws.pem");
}

}  // namespace
}  // namespace nodepool::drivers::aws
