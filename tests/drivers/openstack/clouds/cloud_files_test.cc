#include "drivers/openstack/clouds/cloud_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/problem.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::openstack {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class CloudFilesTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    return directory_.write(name, text);
  }

  Cloud find(const std::string& name, const std::optional<std::string>& region = {}) {
    return find_cloud(name, region, environment_);
  }

  std::string error(const std::optional<std::string>& name,
                    const std::optional<std::string>& region = {}) {
    try {
      find_cloud(name, region, environment_);
    } catch (const CloudsError& error) {
      return error.what();
    } catch (const config::ConfigError& error) {
      return error.what();
    }
    return "found";
  }

  void use(const std::string& text) {
    environment_.emplace_back("OS_CLIENT_CONFIG_FILE", write("clouds.yaml", text));
  }

  test_support::TemporaryDirectory directory_;
  config::Environment environment_{{"HOME", (directory_.path() / "home").string()},
                                   {"XDG_CONFIG_DIRS", (directory_.path() / "xdg").string()}};
};

TEST_F(CloudFilesTest, an_entry_with_all_that_is_used) {
  use(R"(
clouds:
  one:
    auth:
      auth_url: https://keystone.example.org:5000/v3
      username: ci
      password: 12345
      project_name: builds
      domain_name: corp
    auth_type: v3password
    region_name: north
    interface: internal
    network_interface: admin
    compute_endpoint_override: https://nova.example.org/v2.1
    volume_endpoint_override: https://cinder.example.org/v3
    compute_default_microversion: 2.37
    verify: false
    cacert: /etc/ssl/own.pem
    cert: /c.pem
    key: /k.pem
    image_format: raw
    image_api_use_tasks: "yes"
    disable_vendor_agent: {vm_mode: hvm, agent: false}
    has_network: false
    floating_ip_source: None
    private: true
    force_ipv4: true
    use_external_network: false
    use_internal_network: "no"
    networks:
      - {name: out, routes_externally: true, nat_source: true}
      - {name: in, nat_destination: true, default_interface: true}
)");
  const Cloud cloud = find("one");
  EXPECT_EQ(cloud.file, (directory_.path() / "clouds.yaml").string());
  EXPECT_EQ(cloud.auth_type, "v3password");
  EXPECT_THAT(cloud.auth,
              ElementsAre(Pair("auth_url", "https://keystone.example.org:5000/v3"),
                          Pair("password", "12345"), Pair("project_domain_name", "corp"),
                          Pair("project_name", "builds"), Pair("user_domain_name", "corp"),
                          Pair("username", "ci")));
  EXPECT_EQ(cloud.region, "north");
  EXPECT_EQ(cloud.interface, "internal");
  EXPECT_THAT(cloud.interfaces, ElementsAre(Pair("network", "admin")));
  EXPECT_THAT(cloud.endpoints, ElementsAre(Pair("compute", "https://nova.example.org/v2.1"),
                                           Pair("volume", "https://cinder.example.org/v3")));
  EXPECT_EQ(cloud.compute_microversion, "2.37");
  EXPECT_FALSE(cloud.verify);
  EXPECT_EQ(cloud.cacert, "/etc/ssl/own.pem");
  EXPECT_EQ(cloud.cert, "/c.pem");
  EXPECT_EQ(cloud.key, "/k.pem");
  EXPECT_EQ(cloud.image_format, "raw");
  EXPECT_TRUE(cloud.image_api_use_tasks);
  EXPECT_THAT(cloud.image_properties, ElementsAre(Pair("agent", "False"), Pair("vm_mode", "hvm")));
  EXPECT_FALSE(cloud.has_network);
  EXPECT_FALSE(cloud.has_floating_ips);
  EXPECT_TRUE(cloud.is_private);
  EXPECT_TRUE(cloud.force_ipv4);
  EXPECT_FALSE(cloud.use_external_network);
  EXPECT_FALSE(cloud.use_internal_network);
  EXPECT_THAT(cloud.networks, ElementsAre(NetworkRole{"out", true, true, false, false},
                                          NetworkRole{"in", false, false, true, true}));
}

TEST_F(CloudFilesTest, everything_has_the_default_of_the_python_sdk) {
  use("clouds: {one: {}}");
  Cloud expected;
  expected.name = "one";
  expected.file = (directory_.path() / "clouds.yaml").string();
  EXPECT_EQ(find("one"), expected);
}

TEST_F(CloudFilesTest, paths_may_begin_with_the_home_directory) {
  use("clouds: {one: {cacert: ~/ca.pem, cert: ~/cert.pem, key: ~/key.pem}}");
  const std::string home = (directory_.path() / "home").string();
  const Cloud cloud = find("one");
  EXPECT_EQ(cloud.cacert, home + "/ca.pem");
  EXPECT_EQ(cloud.cert, home + "/cert.pem");
  EXPECT_EQ(cloud.key, home + "/key.pem");
}

TEST_F(CloudFilesTest, older_spellings_are_understood) {
  use(R"(
clouds:
  one:
    auth: {auth_url: "http://k", tenant_name: t, username: u}
    password: beside
    auth_plugin: password
    endpoint_type: internal
    insecure: true
    external_network: ext
)");
  const Cloud cloud = find("one");
  EXPECT_EQ(cloud.auth_value("project_name"), "t");
  EXPECT_EQ(cloud.auth_value("password"), "beside");
  EXPECT_EQ(cloud.auth_value("nothing"), "");
  EXPECT_EQ(cloud.interface, "internal");
  EXPECT_FALSE(cloud.verify);
  EXPECT_THAT(cloud.networks, ElementsAre(NetworkRole{"ext", true, false, false, true}));
}

TEST_F(CloudFilesTest, secrets_may_be_in_a_separate_file) {
  use("clouds: {one: {auth: {username: u, password: public}}}");
  environment_.emplace_back(
      "OS_CLIENT_SECURE_FILE",
      write("secure.yaml", "clouds: {one: {auth: {password: hush}}, other: {}}"));
  EXPECT_THAT(find("one").auth, ElementsAre(Pair("password", "hush"), Pair("username", "u")));
}

TEST_F(CloudFilesTest, a_profile_goes_under_the_entry) {
  use("clouds: {one: {profile: big, auth: {username: u}, image_format: qcow2}}");
  environment_.emplace_back(
      "OS_CLIENT_VENDOR_FILE",
      write("clouds-public.yaml",
            "public-clouds: {big: {auth: {auth_url: https://big}, image_format: raw}}"));
  const Cloud cloud = find("one");
  EXPECT_EQ(cloud.auth_value("auth_url"), "https://big");
  EXPECT_EQ(cloud.auth_value("username"), "u");
  EXPECT_EQ(cloud.image_format, "qcow2");
}

TEST_F(CloudFilesTest, profiles_of_public_clouds_are_built_in) {
  use("clouds: {one: {profile: ovh, region_name: GRA9, auth: {username: u}}}");
  const Cloud cloud = find("one");
  EXPECT_THAT(cloud.auth, ElementsAre(Pair("auth_url", "https://auth.cloud.ovh.net"),
                                      Pair("project_domain_name", "Default"),
                                      Pair("user_domain_name", "Default"), Pair("username", "u")));
  EXPECT_EQ(cloud.region, "GRA9");
  EXPECT_FALSE(cloud.has_floating_ips);
}

TEST_F(CloudFilesTest, a_profile_of_clouds_public_yaml_precedes_the_built_in_one) {
  use("clouds: {one: {profile: ovh}, two: {profile: vexxhost}}");
  environment_.emplace_back(
      "OS_CLIENT_VENDOR_FILE",
      write("clouds-public.yaml", "public-clouds: {ovh: {auth: {auth_url: https://own}}}"));
  EXPECT_EQ(find("one").auth_value("auth_url"), "https://own");
  EXPECT_TRUE(find("one").has_floating_ips);
  EXPECT_EQ(find("two").image_format, "raw");
}

TEST_F(CloudFilesTest, all_built_in_profiles_can_be_read) {
  for (const char* name : {"auro", "binero", "citycloud", "dreamcompute", "elastx",
                           "entercloudsuite", "limestonenetworks", "otc", "otc-swiss", "ovh",
                           "ovh-us", "switchcloud", "switchengines", "vexxhost", "zetta"}) {
    use(std::string("clouds: {one: {profile: ") + name + "}}");
    const Cloud cloud = find("one");
    EXPECT_THAT(cloud.auth_value("auth_url"), testing::StartsWith("https://")) << name;
    EXPECT_THAT(cloud.auth_value("auth_url"), Not(HasSubstr("{"))) << name;
  }
}

TEST_F(CloudFilesTest, urls_of_an_entry_contain_the_region) {
  use(R"(
clouds:
  one: {profile: citycloud, image_endpoint_override: 'https://{region_name}/a/{region_name}'}
  two: {auth: {auth_url: 'https://{region_name}'}}
  same: {region_name: '{region_name}', auth: {auth_url: 'https://{region_name}'}}
)");
  EXPECT_EQ(find("one").auth_value("auth_url"), "https://Buf1.citycloud.com:5000/v3");
  EXPECT_EQ(find("one", "Kna1").auth_value("auth_url"), "https://Kna1.citycloud.com:5000/v3");
  EXPECT_EQ(find("one").endpoints.at("image"), "https://Buf1/a/Buf1");
  EXPECT_EQ(find("two", "north").auth_value("auth_url"), "https://north");
  EXPECT_EQ(find("same").auth_value("auth_url"), "https://{region_name}");
}

TEST_F(CloudFilesTest, only_the_entry_may_name_a_region_that_the_profile_lacks) {
  use("clouds: {one: {profile: citycloud, region_name: New1}, two: {profile: citycloud}}");
  EXPECT_EQ(find("one").auth_value("auth_url"), "https://New1.citycloud.com:5000/v3");
  EXPECT_THAT(error("two", "New1"), AllOf(HasSubstr("no region New1"), HasSubstr("Buf1, Fra1")));
}

TEST_F(CloudFilesTest, the_networks_of_a_profile_depend_on_the_region) {
  use("clouds: {one: {profile: limestonenetworks, region_name: us-slc}}");
  EXPECT_THAT(find("one").networks, testing::SizeIs(3));
  EXPECT_THAT(find("one", "us-dfw-1").networks, testing::SizeIs(4));
}

TEST_F(CloudFilesTest, a_wanted_region_of_the_profile_has_its_values_whatever_the_entry_names) {
  use("clouds: {one: {profile: limestonenetworks, region_name: us-new}}");
  EXPECT_THAT(find("one", "us-slc").networks, testing::SizeIs(3));
  EXPECT_THAT(find("one").networks, IsEmpty());
  EXPECT_THAT(find("one", "us-new").networks, IsEmpty());
  EXPECT_THAT(error("one", "us-other"), HasSubstr("no region us-other"));
}

TEST_F(CloudFilesTest, an_unknown_profile_is_reported) {
  use("clouds: {one: {profile: nimbus}, two: {profile: 'https://vexxhost.com'}}");
  EXPECT_THAT(error("one"), AllOf(HasSubstr("cloud one"), HasSubstr("nimbus"),
                                  HasSubstr("clouds-public.yaml"), HasSubstr("vexxhost")));
  EXPECT_THAT(error("two"), AllOf(HasSubstr("is a URL"), HasSubstr("clouds-public.yaml")));
}

TEST_F(CloudFilesTest, regions_have_values_of_their_own) {
  use(R"(
clouds:
  one:
    image_format: raw
    regions:
      - north
      - name: south
        values: {image_format: vhd, auth: {auth_url: "http://south"}}
)");
  EXPECT_EQ(find("one").region, "north");
  EXPECT_EQ(find("one").image_format, "raw");
  EXPECT_EQ(find("one", "south").image_format, "vhd");
  EXPECT_EQ(find("one", "south").auth_value("auth_url"), "http://south");
  EXPECT_THAT(error("one", "west"), AllOf(HasSubstr("west"), HasSubstr("north, south")));
}

TEST_F(CloudFilesTest, the_users_directory_comes_before_the_sites) {
  write("xdg/openstack/clouds.yaml", "clouds: {one: {region_name: site}, two: {}}");
  EXPECT_EQ(find("one").region, "site");
  write("home/.config/openstack/clouds.yml", "clouds: {one: {region_name: user}}");
  EXPECT_EQ(find("one").region, "user");
  environment_.emplace_back("XDG_CONFIG_HOME", (directory_.path() / "mine").string());
  write("mine/openstack/clouds.json", R"({"clouds": {"one": {"region_name": "json"}}})");
  EXPECT_EQ(find("one").region, "json");
  environment_.emplace_back("OS_CLIENT_CONFIG_FILE", "/does/not/exist.yaml");
  EXPECT_EQ(find("one").region, "json");
}

TEST_F(CloudFilesTest, variables_describe_a_cloud_when_no_name_is_given) {
  EXPECT_THAT(error({}), HasSubstr("OS_CLOUD"));
  environment_.emplace_back("OS_AUTH_URL", "http://k");
  environment_.emplace_back("OS_USERNAME", "u");
  environment_.emplace_back("OS_REGION_NAME", "north");
  const Cloud cloud = find_cloud({}, {}, environment_);
  EXPECT_EQ(cloud.name, "envvars");
  EXPECT_EQ(cloud.region, "north");
  EXPECT_EQ(cloud.auth_value("auth_url"), "http://k");
  EXPECT_THAT(cloud.file, IsEmpty());
}

TEST_F(CloudFilesTest, without_a_name_the_variable_or_the_only_entry_counts) {
  use("clouds: {one: {}}");
  EXPECT_EQ(find_cloud({}, {}, environment_).name, "one");
  environment_.emplace_back("OS_CLOUD", "two");
  EXPECT_THAT(error({}), HasSubstr("two"));
}

TEST_F(CloudFilesTest, an_unknown_cloud_is_reported_with_the_known_ones) {
  EXPECT_THAT(error("one"), AllOf(HasSubstr("no clouds.yaml exists"),
                                  HasSubstr("home/.config/openstack/clouds.yaml")));
  use("clouds: {two: {auth: {password: hush}}, three: {}}");
  EXPECT_THAT(error("one"),
              AllOf(HasSubstr("clouds.yaml"), HasSubstr("three, two"), Not(HasSubstr("hush"))));
}

TEST_F(CloudFilesTest, a_file_that_cannot_be_parsed_is_named_with_the_line) {
  use("clouds:\n  one:\n    auth: {password: [hush\n");
  EXPECT_THAT(error("one"),
              AllOf(testing::ContainsRegex("clouds.yaml:[34]:"), Not(HasSubstr("hush"))));
}

TEST_F(CloudFilesTest, what_has_the_wrong_shape_is_refused) {
  use("clouds: [one]");
  EXPECT_THAT(error("one"), HasSubstr("`clouds` must be a mapping"));
}

TEST_F(CloudFilesTest, networks_need_names_and_single_roles) {
  use(R"(
clouds:
  a: {networks: [{nat_source: true}]}
  b: {networks: [{name: x, nat_destination: true}, {name: y, nat_destination: true}]}
  c: {networks: [{name: x}], external_network: y}
)");
  EXPECT_THAT(error("a"), HasSubstr("`name`"));
  EXPECT_THAT(error("b"), HasSubstr("`nat_destination`"));
  EXPECT_THAT(error("c"), HasSubstr("`external_network`"));
}

}  // namespace
}  // namespace nodepool::drivers::openstack
