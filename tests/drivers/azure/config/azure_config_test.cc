#include "drivers/azure/config/azure_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/azure/config/azure_schema.h"
#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::azure {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using Kind = TokenSource::Kind;

class AzureConfigTest : public ProviderConfigTest {
 protected:
  AzureConfigTest() : ProviderConfigTest({.schemas = {{"azure", &azure_schema()}}}) {
    auth(R"({"clientId": "c", "clientSecret": "s3cr3t", "subscriptionId": "s", "tenantId": "t"})");
  }

  void auth(const std::string& text) {
    environment_ = {{"AZURE_AUTH_LOCATION", directory_.write("auth.json", text)}};
  }

  std::shared_ptr<const AzureConfig> load(const std::string& text) {
    const config::Config config = read(text);
    return std::make_shared<AzureConfig>(config.providers.at(0), config, environment_);
  }

  std::string load_error(const std::string& text) {
    return error_of([&] { load(text)->require_files(); });
  }

  config::Environment environment_;
};

constexpr const char* kLeast = R"(
labels: [{name: small}]
diskimages: [{name: built, elements: [vm], username: zuul}]
providers:
  - name: sky
    driver: azure
    location: westus
    resource-group: rg
    resource-group-location: eastus
    auth-path: ''
    network: net
    diskimages: [{name: built}]
    cloud-images: [{name: jammy, username: u, image-id: /i}]
    pools:
      - name: main
        max-servers: 3
        labels: [{name: small, cloud-image: jammy, hardware-profile: {vm-size: Standard_B1s}}]
)";

// A provider that differs from kLeast in one place.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kLeast;
  return text.replace(text.find(from), from.size(), to);
}

// In the form of the Python Nodepool's own tests.
TEST_F(AzureConfigTest, a_configuration_of_the_python_nodepool_is_read) {
  const std::string text = R"(
labels: [{name: bionic}]
providers:
  - name: azure
    driver: azure
    zuul-public-key: "ssh-rsa AAAA zuul"
    location: "centralus"
    resource-group: "nodepool"
    resource-group-location: "centralus"
    auth-path: ")" + environment_.at(0).second +
                           R"("
    network: "nodepool"
    cloud-images:
      - name: bionic
        username: zuul
        image-reference: {sku: 18.04-LTS, publisher: Canonical, version: latest, offer: UbuntuServer}
    pools:
      - name: main
        max-servers: 10
        labels:
          - name: bionic
            cloud-image: bionic
            hardware-profile:
              vm-size: "Standard_D1_v2"
            tags:
              department: R&D
              team: DevOps
)";
  EXPECT_THAT(problems(text), IsEmpty());
  const auto config = load(text);
  EXPECT_EQ(config->account().location, "centralus");
  EXPECT_EQ(config->account().resource_group, "nodepool");
  EXPECT_EQ(config->subnet_id(),
            "/subscriptions/s/resourceGroups/nodepool/providers/Microsoft.Network/virtualNetworks/"
            "nodepool/subnets/default");
  const AzureLabel& label = config->label("main", "bionic");
  EXPECT_EQ(label.size, "Standard_D1_v2");
  EXPECT_THAT(label.tags, ElementsAre(Pair("department", "R&D"), Pair("team", "DevOps")));
  EXPECT_EQ(label.image->key, "ssh-rsa AAAA zuul");
  EXPECT_EQ(label.image->username, "zuul");
  EXPECT_THAT(label.image->reference,
              ElementsAre(Pair("offer", "UbuntuServer"), Pair("publisher", "Canonical"),
                          Pair("sku", "18.04-LTS"), Pair("version", "latest")));
}

TEST_F(AzureConfigTest, everything_has_its_documented_default) {
  EXPECT_THAT(problems(kLeast), IsEmpty());
  const auto config = load(kLeast);
  EXPECT_EQ(config->rate(), 1);
  EXPECT_EQ(config->boot_timeout(), 120s);
  EXPECT_EQ(config->launch_timeout(), 3600s);
  EXPECT_EQ(config->launch_retries(), 3);
  EXPECT_FALSE(config->machine_pool("main").use_internal_ip);
  const AzurePool& pool = config->pool("main");
  EXPECT_TRUE(pool.ipv4 && pool.public_ipv4);
  EXPECT_FALSE(pool.ipv6 || pool.public_ipv6);
  const driver::MachineLabel& machine = config->machine_label("main", "small");
  EXPECT_TRUE(machine.host_key_checking);
  EXPECT_EQ(machine.access.username, "u");
  EXPECT_EQ(machine.access.connection_port, 22);
  const AzureLabel& label = config->label("main", "small");
  EXPECT_EQ(label.volume_size, std::nullopt);
  EXPECT_FALSE(label.use_spot);
  EXPECT_THAT(label.image->reference, ElementsAre(Pair("id", "/i")));
  ASSERT_TRUE(config->managed_images());
  EXPECT_EQ(config->managed_images()->format, "vhd");
  EXPECT_EQ(config->managed_images()->images.at("built").access.username, "zuul");
}

TEST_F(AzureConfigTest, a_family_is_enabled_by_itself_or_by_its_public_addresses) {
  const auto families = [this](const std::string& pool) {
    const auto config = load(changed("max-servers: 3", "max-servers: 3\n        " + pool));
    const AzurePool& read = config->pool("main");
    return std::string(read.ipv4 ? "4" : "") + (read.public_ipv4 ? "p" : "") +
           (read.ipv6 ? "6" : "") + (read.public_ipv6 ? "p" : "");
  };
  EXPECT_EQ(families("public-ipv6: true"), "4p6p");
  EXPECT_EQ(families("public-ipv4: false"), "4");
  EXPECT_EQ(families("public-ipv4: false\n        ipv6: true"), "6");
}

TEST_F(AzureConfigTest, a_network_is_named_by_id_name_or_mapping) {
  EXPECT_EQ(
      load(changed("network: net", "network: {resource-group: g, network: n, subnet: s}"))
          ->subnet_id(),
      "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/n/subnets/s");
  EXPECT_EQ(load(changed("network: net", "network: {network: n}"))->subnet_id(),
            "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/n/"
            "subnets/default");
  EXPECT_EQ(load(changed("network: net", "subnet-id: /x"))->subnet_id(), "/x");
  EXPECT_THAT(load_error(changed("    network: net\n", "")),
              HasSubstr("providers[0] (sky): set either `subnet-id` or `network`"));
}

TEST_F(AzureConfigTest, images_of_every_kind_are_read) {
  const auto image = [this](const std::string& text) {
    return *load(changed("image-id: /i", text))->label("main", "small").image;
  };
  const AzureImage filtered =
      image("image-filter: {name: n, location: l, tags: {a: b}}, key: k, password: p");
  EXPECT_EQ(filtered.filter,
            (GroupImageFilter{.name = "n", .location = "l", .tags = {{"a", "b"}}}));
  EXPECT_EQ(filtered.key, "k");
  EXPECT_EQ(filtered.password, "p");
  EXPECT_THAT(image("shared-gallery-image: {gallery-name: g, name: n}").reference,
              ElementsAre(Pair("sharedGalleryImageId", "/SharedGalleries/g/Images/n")));
  EXPECT_THAT(
      image("community-gallery-image: {gallery-name: g, name: n, version: 1.2.0}").reference,
      ElementsAre(
          Pair("communityGalleryImageId", "/CommunityGalleries/g/Images/n/Versions/1.2.0")));
  EXPECT_THAT(problems(changed("image-id: /i", "image-id: /i, image-filter: {}")).size(), 1U);
}

TEST_F(AzureConfigTest, every_key_of_a_label_is_read) {
  const std::string text =
      changed("Standard_B1s}",
              "Standard_B1s}, volume-size: 64, use-spot: true, user-data: u,\n"
              "                  custom-data: c, tags: {a: b}, dynamic-tags: {t: '{request.id}'},\n"
              "                  console-log: true");
  EXPECT_THAT(problems(text), IsEmpty());
  const auto config = load(text);
  const AzureLabel& label = config->label("main", "small");
  EXPECT_EQ(label.volume_size, 64);
  EXPECT_TRUE(label.use_spot);
  EXPECT_EQ(label.user_data, "u");
  EXPECT_EQ(label.custom_data, "c");
  EXPECT_THAT(label.dynamic_tags, ElementsAre(Pair("t", "{request.id}")));
  EXPECT_TRUE(config->machine_label("main", "small").console_log);
  const auto uploaded = load(changed("cloud-image: jammy", "diskimage: built"));
  EXPECT_TRUE(uploaded->label("main", "small").image->reference.empty());
  EXPECT_EQ(uploaded->label("main", "small").image->username, "zuul");
  const auto windows =
      load(changed("image-id: /i", "image-id: /i, connection-type: winrm, password: p"));
  EXPECT_EQ(windows->machine_label("main", "small").access.connection_port, 5986);
}

TEST_F(AzureConfigTest, mistakes_are_reported_with_their_position) {
  EXPECT_THAT(problems(changed("location: westus", "locality: westus")),
              ElementsAre(HasSubstr("f:5:5: providers[0] (sky): the key `location` is missing"),
                          HasSubstr("f:7:5: providers[0] (sky): unknown key `locality`")));
  EXPECT_THAT(problems(changed("    auth-path: ''\n", "")),
              ElementsAre(HasSubstr("the key `auth-path` is missing")));
  const std::string unlimited = changed("        max-servers: 3\n", "");
  EXPECT_THAT(problems(unlimited), IsEmpty());
  EXPECT_THAT(load_error(unlimited),
              HasSubstr("providers[0] (sky).pools[0]: the key `max-servers` is missing"));
  EXPECT_THAT(load_error(changed("cloud-image: jammy", "cloud-image: gone")),
              HasSubstr("the provider has no cloud image `gone`"));
  std::string unlisted = changed("cloud-image: jammy", "diskimage: built");
  const std::string list = "    diskimages: [{name: built}]\n";
  unlisted.erase(unlisted.find(list), list.size());
  EXPECT_THAT(load_error(unlisted), HasSubstr("the provider's `diskimages` do not have `built`"));
  // Read by daemons only, as by the Python Nodepool.
  EXPECT_THAT(problems(changed("{name: built}]", "{name: built, password: p}]")).size(), 1U);
  EXPECT_EQ(load_error(changed("{name: built}]", "{name: built, password: p}]")), "accepted");
}

// --- credentials

TEST_F(AzureConfigTest, a_secret_in_the_file) {
  const Subscription subscription = load(kLeast)->account().subscription;
  EXPECT_EQ(subscription.id, "s");
  EXPECT_EQ(subscription.base_url, "https://management.azure.com");
  EXPECT_EQ(subscription.credentials,
            (TokenSource{.kind = Kind::client_secret,
                         .token_url = "https://login.microsoftonline.com/t/oauth2/v2.0/token",
                         .audience = "https://management.azure.com/",
                         .client_id = "c",
                         .client_secret = "s3cr3t"}));
}

TEST_F(AzureConfigTest, a_certificate_beside_the_file) {
  const std::string pem = directory_.write("client.pem", "PEM");
  auth(R"({"clientId": "c", "clientCertificate": ")" + pem +
       R"(", "subscriptionId": "s", "tenantId": "t",
          "activeDirectoryEndpointUrl": "https://login.microsoftonline.us/",
          "resourceManagerEndpointUrl": "https://management.usgovcloudapi.net/"})");
  const Subscription subscription = load(kLeast)->account().subscription;
  EXPECT_EQ(subscription.base_url, "https://management.usgovcloudapi.net");
  EXPECT_EQ(subscription.credentials,
            (TokenSource{.kind = Kind::client_certificate,
                         .token_url = "https://login.microsoftonline.us/t/oauth2/v2.0/token",
                         .audience = "https://management.usgovcloudapi.net/",
                         .client_id = "c",
                         .certificate = "PEM"}));
  EXPECT_THAT(credential_files(environment_.at(0).second, environment_),
              testing::UnorderedElementsAre(environment_.at(0).second, pem));
}

TEST_F(AzureConfigTest, a_workload_identity_in_the_environment) {
  environment_ = {{"AZURE_SUBSCRIPTION_ID", "s"},
                  {"AZURE_TENANT_ID", "t"},
                  {"AZURE_CLIENT_ID", "c"},
                  {"AZURE_FEDERATED_TOKEN_FILE", "/run/token"},
                  {"AZURE_AUTHORITY_HOST", "http://localhost:1"},
                  {"AZURE_RESOURCE_MANAGER_URL", "http://localhost:2/"}};
  const Subscription subscription = load(kLeast)->account().subscription;
  EXPECT_EQ(subscription.base_url, "http://localhost:2");
  EXPECT_EQ(subscription.credentials,
            (TokenSource{.kind = Kind::federated_token,
                         .token_url = "http://localhost:1/t/oauth2/v2.0/token",
                         .audience = "https://management.azure.com/",
                         .client_id = "c",
                         .federated_token_file = "/run/token"}));
}

TEST_F(AzureConfigTest, the_identity_of_the_machine) {
  environment_ = {{"AZURE_SUBSCRIPTION_ID", "s"}};
  const TokenSource source = load(kLeast)->account().subscription.credentials;
  EXPECT_EQ(source.kind, Kind::managed_identity);
  EXPECT_EQ(source.token_url, "http://169.254.169.254/metadata/identity/oauth2/token");
  EXPECT_EQ(source.client_id, "");
}

TEST_F(AzureConfigTest, credentials_that_cannot_be_used_are_an_error_without_secrets) {
  const auto error_with = [this](const std::string& text) {
    auth(text);
    return load_error(kLeast);
  };
  EXPECT_THAT(error_with("s3cr3t"), AllOf(HasSubstr("nodepool.yaml:10:16: "),
                                          HasSubstr("is no JSON"), Not(HasSubstr("s3cr3t"))));
  EXPECT_THAT(error_with(R"({"clientSecret": "s3cr3t"})"),
              AllOf(HasSubstr("has no `subscriptionId`"), Not(HasSubstr("s3cr3t"))));
  EXPECT_THAT(error_with(R"({"subscriptionId": "s", "clientSecret": "s3cr3t"})"),
              HasSubstr("has no `clientId`"));
  environment_.clear();
  EXPECT_THAT(load_error(kLeast), HasSubstr("AZURE_SUBSCRIPTION_ID is not set"));
  EXPECT_THAT(load_error(changed("auth-path: ''", "auth-path: /nowhere")),
              HasSubstr("/nowhere: cannot be opened"));
}

TEST_F(AzureConfigTest, another_account_is_another_provider) {
  const auto one = load(kLeast);
  EXPECT_TRUE(one->same_as(*load(kLeast)));
  EXPECT_FALSE(one->same_as(*load(changed("location: westus", "location: other"))));
  environment_.emplace_back("AZURE_RESOURCE_MANAGER_URL", "http://localhost:1");
  EXPECT_FALSE(one->same_as(*load(kLeast)));
}

TEST_F(AzureConfigTest, the_environment_names_authorities) {
  const std::string private_ca = directory_.write("private.pem", "");
  environment_.emplace_back("REQUESTS_CA_BUNDLE", private_ca);
  EXPECT_EQ(load(kLeast)->account().ca_file, private_ca);
  std::filesystem::remove(private_ca);
  EXPECT_THAT(load_error(kLeast), HasSubstr("REQUESTS_CA_BUNDLE: " + private_ca + ": "));
}

}  // namespace
}  // namespace nodepool::drivers::azure
