#include "drivers/ibmvpc/config/ibmvpc_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/ibmvpc/config/ibmvpc_schema.h"
#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::ibmvpc {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class IbmVpcConfigTest : public ProviderConfigTest {
 protected:
  IbmVpcConfigTest() : ProviderConfigTest({.schemas = {{"ibmvpc", &ibmvpc_schema()}}}) {}

  std::shared_ptr<const IbmVpcConfig> load(const std::string& text) {
    const config::Config config = read(text);
    return std::make_shared<IbmVpcConfig>(config.providers.at(0), config, environment_);
  }

  std::string load_error(const std::string& text) {
    return error_of([&] { load(text)->require_files(); });
  }

  config::Environment environment_ = {{"VPC_APIKEY", "secret-key"}};
};

// That of the Python Nodepool's own tests.
constexpr const char* kOfPython = R"(
labels:
  - {name: debian-private, min-ready: 0}
  - {name: debian-public, min-ready: 0}
  - {name: debian-filter, min-ready: 0}
  - {name: fake-image, min-ready: 0}

providers:
  - name: ibmvpc
    driver: ibmvpc
    rate: 1000
    object-storage:
       instance-name: 'Cloud Object Storage-r6'
       endpoint: 'https://s3.us-south.cloud-object-storage.appdomain.cloud'
       bucket-name: np-testbucket
    vpc: nodepool
    region: us-south
    subnet: sn-nodepool
    boot-timeout: 240
    quota:
      cores: 200
    cloud-images:
      - name: debian-by-name
        username: zuul
        keys:
          - testuser
        image-name: ibm-debian-9-13-minimal-amd64-4
      - name: debian-by-filter
        username: zuul
        keys:
          - testuser
        image-filter:
          operating-system:
            family: "Debian GNU/Linux"
            version: "9.x Stretch/Stable - Minimal Install"
            dedicated-host-only: false
          owner-type: provider
    diskimages:
      - name: fake-image
        operating-system: 'debian-9-amd64'
        python-path: /usr/bin/python3
    pools:
      - name: private
        zone: us-south-1
        max-servers: 10
        host-key-checking: false
        labels:
          - name: debian-private
            cloud-image: debian-by-name
            profile: cx2-2x4
          - name: debian-filter
            cloud-image: debian-by-filter
            profile: cx2-2x4
          - name: fake-image
            diskimage: fake-image
            profile: cx2-2x4
      - name: public
        zone: us-south-1
        max-servers: 10
        public-ipv4: True
        labels:
          - name: debian-public
            cloud-image: debian-by-name
            profile: cx2-2x4

diskimages:
  - name: fake-image
    username: another
    elements: [fedora, vm]
    release: 21
)";

TEST_F(IbmVpcConfigTest, a_configuration_of_the_python_nodepool_is_read) {
  EXPECT_THAT(problems(kOfPython), IsEmpty());
  const auto config = load(kOfPython);
  EXPECT_EQ(config->vpc(), "nodepool");
  EXPECT_EQ(config->rate(), 1000);
  EXPECT_EQ(config->boot_timeout(), 240s);
  EXPECT_THAT(config->quota(), ElementsAre(Pair("cores", 200)));
  EXPECT_EQ(config->account().region, "us-south");
  EXPECT_EQ(config->account().vpc_url, "https://us-south.iaas.cloud.ibm.com/v1");
  EXPECT_EQ(config->account().groups_url, "https://resource-controller.cloud.ibm.com");
  const VpcLabel& by_name = config->label("private", "debian-private");
  EXPECT_EQ(by_name.image->name, "ibm-debian-9-13-minimal-amd64-4");
  EXPECT_THAT(by_name.keys, ElementsAre("testuser"));
  EXPECT_EQ(by_name.profile, "cx2-2x4");
  EXPECT_EQ(by_name.zone, "us-south-1");
  EXPECT_EQ(by_name.subnet, "sn-nodepool");
  EXPECT_FALSE(by_name.public_ipv4);
  const VpcLabel& by_filter = config->label("private", "debian-filter");
  EXPECT_THAT(by_filter.image->operating_system,
              ElementsAre(Pair("dedicated_host_only", "false"), Pair("family", "Debian GNU/Linux"),
                          Pair("version", "9.x Stretch/Stable - Minimal Install")));
  EXPECT_EQ(by_filter.image->owner_type, "provider");
  EXPECT_TRUE(config->label("public", "debian-public").public_ipv4);
  const driver::MachineLabel& built = config->machine_label("private", "fake-image");
  EXPECT_EQ(built.diskimage, "fake-image");
  EXPECT_EQ(built.access.username, "another");
  EXPECT_EQ(built.access.python_path, "/usr/bin/python3");
  EXPECT_FALSE(built.host_key_checking);
  EXPECT_EQ(config->label("private", "fake-image").image, std::nullopt);
  EXPECT_TRUE(config->label("private", "fake-image").keys.empty());
  ASSERT_NE(config->managed_images(), std::nullopt);
  EXPECT_EQ(config->managed_images()->format, "qcow2");
  EXPECT_TRUE(config->managed_images()->images.contains("fake-image"));
  EXPECT_EQ(config->operating_system("fake-image"), "debian-9-amd64");
  EXPECT_EQ(config->image_bucket().name, "np-testbucket");
  EXPECT_EQ(config->image_bucket().endpoint,
            "https://s3.us-south.cloud-object-storage.appdomain.cloud");
}

constexpr const char* kLeast = R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: ibmvpc
    vpc: net
    region: north
    zone: north-1
    subnet: inner
    cloud-images: [{name: jammy, username: ci, image-id: i-1}]
    pools:
      - name: main
        max-servers: 3
        labels: [{name: small, cloud-image: jammy, profile: bx2-2x8}]
)";

// A provider that differs from kLeast in one place.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kLeast;
  return text.replace(text.find(from), from.size(), to);
}

TEST_F(IbmVpcConfigTest, everything_has_its_documented_default) {
  EXPECT_THAT(problems(kLeast), IsEmpty());
  const auto config = load(kLeast);
  EXPECT_EQ(config->rate(), 1);
  EXPECT_EQ(config->boot_timeout(), 120s);
  EXPECT_EQ(config->launch_timeout(), 3600s);
  EXPECT_EQ(config->launch_retries(), 3);
  EXPECT_TRUE(config->quota().empty());
  EXPECT_FALSE(config->machine_pool("main").use_internal_ip);
  const driver::MachineLabel& machine = config->machine_label("main", "small");
  EXPECT_TRUE(machine.host_key_checking);
  EXPECT_EQ(machine.access.username, "ci");
  EXPECT_EQ(machine.access.python_path, "auto");
  EXPECT_EQ(machine.access.connection_type, "ssh");
  EXPECT_EQ(machine.access.connection_port, 22);
  const VpcLabel& label = config->label("main", "small");
  EXPECT_EQ(label.image->id, "i-1");
  EXPECT_EQ(label.user_data, "");
  EXPECT_EQ(label.volume_profile, "general-purpose");
  EXPECT_EQ(label.volume_iops, std::nullopt);
  EXPECT_THAT(label.security_groups, IsEmpty());
  EXPECT_FALSE(label.public_ipv4);
}

TEST_F(IbmVpcConfigTest, a_volume_and_security_groups_are_read) {
  const std::string text =
      changed("profile: bx2-2x8", "profile: bx2-2x8, volume-profile: custom, volume-iops: 6000");
  EXPECT_THAT(problems(text), IsEmpty());
  EXPECT_EQ(load(text)->label("main", "small").volume_profile, "custom");
  EXPECT_EQ(load(text)->label("main", "small").volume_iops, 6000);
  const std::string groups =
      changed("- name: main", "- name: main\n        security-groups: [g-1, g-2]");
  EXPECT_THAT(problems(groups), IsEmpty());
  EXPECT_THAT(load(groups)->label("main", "small").security_groups, ElementsAre("g-1", "g-2"));
  EXPECT_THAT(load_error(changed("profile: bx2-2x8", "profile: bx2-2x8, volume-iops: 6000")),
              HasSubstr("volume-iops: needs a `volume-profile`"));
}

TEST_F(IbmVpcConfigTest, a_pool_overrides_the_provider) {
  const auto config = load(changed("- name: main", R"(- name: main
        zone: north-2
        subnet: outer
        public-ipv4: true
        use-internal-ip: true
        host-key-checking: false)"));
  EXPECT_EQ(config->label("main", "small").zone, "north-2");
  EXPECT_EQ(config->label("main", "small").subnet, "outer");
  EXPECT_TRUE(config->label("main", "small").public_ipv4);
  EXPECT_TRUE(config->machine_pool("main").use_internal_ip);
  EXPECT_FALSE(config->machine_label("main", "small").host_key_checking);
  const auto other = load(changed("subnet: inner", "subnet: inner\n    public-ipv4: true"));
  EXPECT_TRUE(other->label("main", "small").public_ipv4);
}

TEST_F(IbmVpcConfigTest, mistakes_are_named_with_their_place) {
  EXPECT_THAT(problems(changed("vpc: net", "vpc: net\n    vcp: 1")), ElementsAre(HasSubstr("f:7")));
  EXPECT_THAT(problems(changed("name: sky", "name: s_ky")), ElementsAre(HasSubstr("underscore")));
  EXPECT_THAT(problems(changed("image-id: i-1", "image-id: i-1, image-name: n")), Not(IsEmpty()));
  EXPECT_THAT(problems(changed(", image-id: i-1", "")), Not(IsEmpty()));
  EXPECT_THAT(problems(changed("region: north", "region: north\n    image-format: raw")),
              Not(IsEmpty()));
  const std::string unlimited = changed("        max-servers: 3\n", "");
  EXPECT_THAT(problems(unlimited), ElementsAre(HasSubstr("the key `max-servers` is missing")));
  EXPECT_THAT(load_error(unlimited), HasSubstr("pools[0]: the key `max-servers` is missing"));
  EXPECT_THAT(load_error(changed("name: main", "name: ma_in")), HasSubstr("underscores"));
  EXPECT_THAT(load_error(changed("zone: north-1", "max-concurrency: 3")),
              HasSubstr("set `zone` in the pool or the provider"));
  EXPECT_THAT(load_error(changed("subnet: inner", "max-concurrency: 3")),
              HasSubstr("set `subnet` in the pool or the provider"));
  EXPECT_THAT(load_error(changed("cloud-image: jammy", "cloud-image: focal")),
              HasSubstr("no cloud image `focal`"));
  EXPECT_THAT(
      load_error("diskimages: [{name: built}]" + changed("cloud-image: jammy", "diskimage: built")),
      HasSubstr("the provider's `diskimages` do not have `built`"));
  EXPECT_THAT(load_error(changed(", image-id: i-1", "")), HasSubstr("set one of `image-id`"));
}

// --- credentials

TEST_F(IbmVpcConfigTest, credentials_are_found_like_by_ibms_sdk) {
  EXPECT_EQ(load(kLeast)->account().credentials.api_key, "secret-key");
  EXPECT_EQ(load(kLeast)->account().credentials.url, "https://iam.cloud.ibm.com/identity/token");
  const std::string file = directory_.write(
      "ibm.env", "# comment\nVPC_APIKEY=of=file\r\nVPC_AUTH_URL=http://iam/identity/token\nX=1\n");
  const auto with_file = load(changed("vpc: net", "vpc: net\n    credentials-file: " + file));
  EXPECT_EQ(with_file->account().credentials.api_key, "of=file");
  EXPECT_EQ(with_file->account().credentials.url, "http://iam/identity/token");
  environment_.emplace_back("IBM_CREDENTIALS_FILE", file);
  EXPECT_EQ(load(kLeast)->account().credentials.api_key, "of=file");
  environment_ = {{"VPC_AUTH_TYPE", "bearerToken"}, {"VPC_BEARER_TOKEN", "t"}};
  EXPECT_EQ(load(kLeast)->account().credentials.bearer_token, "t");
}

TEST_F(IbmVpcConfigTest, a_container_has_a_trusted_profile) {
  environment_ = {{"VPC_AUTH_TYPE", "Container"},
                  {"VPC_IAM_PROFILE_NAME", "ci"},
                  {"VPC_CR_TOKEN_FILENAME", "/run/token"}};
  EXPECT_EQ(load(kLeast)->account().credentials,
            (IamCredentials{.kind = IamCredentials::Kind::container,
                            .url = "https://iam.cloud.ibm.com/identity/token",
                            .profile_name = "ci",
                            .resource_token_files = {"/run/token"}}));
  environment_ = {{"VPC_IAM_PROFILE_ID", "Profile-1"}};
  const auto by_default = load(kLeast);
  const IamCredentials& found = by_default->account().credentials;
  EXPECT_EQ(found.kind, IamCredentials::Kind::container) << "there is no API key";
  EXPECT_EQ(found.profile_id, "Profile-1");
  EXPECT_EQ(found.resource_token_files.at(0), "/var/run/secrets/tokens/vault-token");
}

TEST_F(IbmVpcConfigTest, an_instance_needs_no_other_property) {
  environment_ = {{"VPC_AUTH_TYPE", "vpc"}};
  EXPECT_EQ(
      load(kLeast)->account().credentials,
      (IamCredentials{.kind = IamCredentials::Kind::instance, .url = "http://169.254.169.254"}));
}

TEST_F(IbmVpcConfigTest, missing_credentials_are_an_error_without_secrets) {
  environment_ = {};
  EXPECT_THAT(load_error(kLeast), HasSubstr("no API key"));
  environment_ = {{"VPC_AUTH_TYPE", "noAuth"}, {"VPC_APIKEY", "secret-key"}};
  EXPECT_THAT(load_error(kLeast), AllOf(HasSubstr("`noauth` (VPC_AUTH_TYPE) are not supported"),
                                        HasSubstr("`container`, `vpc`")));
  environment_ = {{"VPC_AUTH_TYPE", "container"}};
  EXPECT_THAT(load_error(kLeast), HasSubstr("VPC_IAM_PROFILE_ID or VPC_IAM_PROFILE_NAME"));
  environment_ = {{"VPC_AUTH_TYPE", "vpc"},
                  {"VPC_IAM_PROFILE_ID", "Profile-1"},
                  {"VPC_IAM_PROFILE_CRN", "crn:1"}};
  EXPECT_THAT(load_error(kLeast), HasSubstr("at most one of"));
  EXPECT_THAT(load_error(changed("vpc: net", "vpc: net\n    credentials-file: /not/there")),
              HasSubstr("/not/there: cannot be read"));
}

TEST_F(IbmVpcConfigTest, a_change_of_the_credentials_is_a_change) {
  const auto before = load(kLeast);
  EXPECT_TRUE(before->same_as(*load(kLeast)));
  environment_ = {{"VPC_APIKEY", "another"}};
  EXPECT_FALSE(before->same_as(*load(kLeast)));
}

TEST_F(IbmVpcConfigTest, endpoints_can_be_overridden) {
  environment_.emplace_back("VPC_URL", "http://127.0.0.1:1/v1/");
  environment_.emplace_back("RESOURCE_MANAGER_URL", "http://127.0.0.1:2");
  EXPECT_EQ(load(kLeast)->account().vpc_url, "http://127.0.0.1:1/v1");
  EXPECT_EQ(load(kLeast)->account().groups_url, "http://127.0.0.1:2");
}

TEST_F(IbmVpcConfigTest, the_environment_names_authorities) {
  const std::string private_ca = directory_.write("private.pem", "");
  environment_.emplace_back("REQUESTS_CA_BUNDLE", private_ca);
  EXPECT_EQ(load(kLeast)->account().ca_file, private_ca);
  std::filesystem::remove(private_ca);
  EXPECT_THAT(load_error(kLeast), HasSubstr("REQUESTS_CA_BUNDLE: " + private_ca + ": "));
}

TEST_F(IbmVpcConfigTest, the_object_storage_has_authorities_of_its_own) {
  const std::string text = changed(
      "vpc: net",
      "vpc: net\n    object-storage: {instance-name: i, endpoint: 'https://s3', bucket-name: b}");
  const std::string storage_ca = directory_.write("storage.pem", "");
  const std::string private_ca = directory_.write("private.pem", "");
  environment_.emplace_back("CURL_CA_BUNDLE", private_ca);
  EXPECT_EQ(load(text)->account().storage_ca_file, "");
  environment_.emplace_back("REQUESTS_CA_BUNDLE", private_ca);
  EXPECT_EQ(load(text)->account().storage_ca_file, private_ca);
  environment_.emplace_back("AWS_CA_BUNDLE", storage_ca);
  EXPECT_EQ(load(text)->account().ca_file, private_ca);
  EXPECT_EQ(load(text)->account().storage_ca_file, storage_ca);
  std::filesystem::remove(storage_ca);
  EXPECT_THAT(load_error(text), HasSubstr("AWS_CA_BUNDLE: " + storage_ca + ": "));
  EXPECT_EQ(load_error(kLeast), "accepted") << "it has no object storage";
}

}  // namespace
}  // namespace nodepool::drivers::ibmvpc
