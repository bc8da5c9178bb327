#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/cloud_error.h"
#include "drivers/openstack/addresses.h"
#include "drivers/openstack/api/auth_request.h"
#include "drivers/openstack/api/catalog.h"
#include "drivers/openstack/clouds/cloud_files.h"
#include "drivers/openstack/flavors.h"

namespace nodepool::drivers::openstack {
namespace {

constexpr bool kHostHasIpv6 = true;
constexpr bool kHostHasNone = false;

ServerAddress fixed(const std::string& address, int version = 4) {
  return {.address = address, .version = version, .type = "fixed", .mac = "m"};
}

Topology topology(const Cloud& cloud = {}) {
  return make_topology(
      {{.id = "1", .name = "inside"}, {.id = "2", .name = "out", .is_external = true}},
      {{.network_id = "1", .has_gateway = true}}, cloud);
}

TEST(AddressesTest, each_kind_is_found_where_it_is) {
  struct Case {
    const char* what;
    ServerAddresses addresses;
    AddressChoice expected;
  };
  const ServerAddress floating{
      .address = "198.51.100.7", .version = 4, .type = "floating", .mac = "m"};
  const std::vector<Case> cases = {
      {"nothing", {}, {}},
      {"inside only", {{"inside", {fixed("10.0.0.1")}}}, {"", "", "10.0.0.1", ""}},
      {"inside and floating",
       {{"inside", {fixed("10.0.0.1"), floating}}},
       {"198.51.100.7", "", "10.0.0.1", "198.51.100.7"}},
      {"directly outside",
       {{"out", {fixed("203.0.113.5"), fixed("2001:db8::5", 6)}}},
       {"203.0.113.5", "2001:db8::5", "", "203.0.113.5"}},
      {"a network called public",
       {{"public", {fixed("10.9.9.9")}}},
       {"10.9.9.9", "", "", "10.9.9.9"}},
      {"a global address anywhere", {{"x", {fixed("8.8.4.4")}}}, {"8.8.4.4", "", "", "8.8.4.4"}},
      {"an address shared by a carrier's customers",
       {{"x", {fixed("100.64.0.1")}}},
       {"100.64.0.1", "", "", "100.64.0.1"}},
      {"a network called private", {{"private", {fixed("10.1.1.1")}}}, {"", "", "10.1.1.1", ""}},
  };
  for (const Case& one : cases) {
    Server server;
    server.addresses = one.addresses;
    EXPECT_EQ(choose_addresses(server, topology(), {}, kHostHasNone), one.expected) << one.what;
  }
}

TEST(AddressesTest, the_one_to_use_depends_on_cloud_and_host) {
  Server server;
  server.addresses = {{"inside", {fixed("10.0.0.1")}},
                      {"out", {fixed("203.0.113.5"), fixed("2001:db8::5", 6)}}};
  Cloud cloud;
  EXPECT_EQ(choose_addresses(server, topology(), cloud, kHostHasIpv6).interface_ip, "2001:db8::5");
  cloud.force_ipv4 = true;
  EXPECT_EQ(choose_addresses(server, topology(), cloud, kHostHasIpv6).interface_ip, "203.0.113.5");
  EXPECT_EQ(choose_addresses(server, topology(), cloud, kHostHasIpv6).public_ipv6, "");
  cloud.is_private = true;
  EXPECT_EQ(choose_addresses(server, topology(), cloud, kHostHasIpv6).interface_ip, "10.0.0.1");
  cloud.networks = {{.name = "out", .routes_externally = true, .default_interface = true}};
  EXPECT_EQ(choose_addresses(server, topology(cloud), cloud, kHostHasNone).interface_ip,
            "203.0.113.5");
  cloud.use_external_network = false;
  cloud.use_internal_network = false;
  EXPECT_EQ(choose_addresses(server, topology(cloud), cloud, kHostHasNone).public_ipv4, "");
  EXPECT_EQ(choose_addresses(server, topology(cloud), cloud, kHostHasNone).private_ipv4, "");
  cloud.use_external_network = true;
  server.access_ipv4 = "192.0.2.1";
  EXPECT_EQ(choose_addresses(server, topology(cloud), cloud, kHostHasNone).public_ipv4,
            "192.0.2.1");
}

TEST(AddressesTest, a_floating_ip_is_for_machines_without_another_way_in) {
  Server server;
  server.addresses = {{"inside", {fixed("10.0.0.1")}}};
  const auto needs = [&server](const Topology& networks, const Cloud& cloud) {
    return needs_floating_ip(server, choose_addresses(server, networks, cloud, kHostHasNone),
                             networks, cloud);
  };
  EXPECT_TRUE(needs(topology(), {}));
  EXPECT_FALSE(needs(make_topology({{.id = "1", .name = "inside"}}, {}, {}), {}));
  Cloud cloud;
  cloud.is_private = true;
  EXPECT_FALSE(needs(topology(), cloud));
  cloud = {};
  cloud.has_floating_ips = false;
  EXPECT_FALSE(needs(topology(), cloud));
  server.addresses.push_back({"out", {fixed("203.0.113.5")}});
  EXPECT_FALSE(needs(topology(), {}));
}

TEST(AddressesTest, of_several_ports_that_on_the_nat_destination_counts) {
  const Port inside{.id = "p1", .network_id = "1", .addresses = {"2001:db8::1", "10.0.0.1"}};
  const Port other{.id = "p2", .network_id = "9", .addresses = {"10.9.0.1"}};
  EXPECT_EQ(choose_port({}, topology()), std::nullopt);
  EXPECT_EQ(choose_port({other}, topology())->port_id, "p2");
  EXPECT_EQ(choose_port({other, inside}, topology())->port_id, "p1");
  EXPECT_EQ(choose_port({other, inside}, topology())->fixed_address, "10.0.0.1");
  EXPECT_THROW(choose_port({other, inside}, {}), driver::CloudError);
}

TEST(TopologyTest, names_that_several_networks_have_are_refused) {
  const Topology networks =
      make_topology({{.id = "1", .name = "a"}, {.id = "2", .name = "a"}}, {}, {});
  EXPECT_EQ(networks.find("2")->id, "2");
  EXPECT_EQ(networks.find("b"), nullptr);
  EXPECT_THROW(networks.find("a"), driver::CloudError);
}

TEST(FlavorsTest, memory_and_name_choose) {
  const std::vector<Flavor> flavors = {
      {"1", "s", 512, 1}, {"2", "m", 2048, 1}, {"3", "m-perf", 2048, 2}, {"4", "l-perf", 4096, 4}};
  const auto chosen = [&flavors](std::int64_t ram, std::optional<std::string> name) {
    OpenStackLabel label;
    label.min_ram = ram;
    label.flavor_name = std::move(name);
    const Flavor* flavor = choose_flavor(flavors, label);
    return flavor == nullptr ? std::string() : flavor->id;
  };
  EXPECT_EQ(chosen(513, {}), "2");
  EXPECT_EQ(chosen(513, "perf"), "3");
  EXPECT_EQ(chosen(8192, {}), "");
  EXPECT_EQ(chosen(0, "m-perf"), "3");
  EXPECT_EQ(chosen(0, "4"), "4");
  EXPECT_EQ(chosen(0, "perf"), "");
  EXPECT_EQ(chosen(0, {}), "");
}

TEST(AuthRequestTest, each_kind_of_credentials_has_its_form) {
  Cloud cloud;
  cloud.auth = {{"auth_url", "http://k/"},
                {"username", "u"},
                {"password", "p"},
                {"project_name", "x"},
                {"user_domain_name", "d"}};
  EXPECT_EQ(token_url(cloud), "http://k/v3/auth/tokens");
  EXPECT_EQ(auth_request(cloud),
            R"({"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"u",)"
            R"("domain":{"name":"d"},"password":"p"}}},)"
            R"("scope":{"project":{"name":"x","domain":{"id":"default"}}}}})");
  cloud.auth_type = "v3applicationcredential";
  cloud.auth = {{"auth_url", "http://k/v3"},
                {"application_credential_id", "i"},
                {"application_credential_secret", "s"},
                {"project_id", "ignored"}};
  EXPECT_EQ(token_url(cloud), "http://k/v3/auth/tokens");
  EXPECT_EQ(auth_request(cloud), R"({"auth":{"identity":{"methods":["application_credential"],)"
                                 R"("application_credential":{"id":"i","secret":"s"}}}})");
  cloud.auth_type = "token";
  cloud.auth = {{"auth_url", "http://k/v2.0"}, {"token", "t"}};
  EXPECT_EQ(token_url(cloud), "http://k/v3/auth/tokens");
  EXPECT_EQ(auth_request(cloud),
            R"({"auth":{"identity":{"methods":["token"],"token":{"id":"t"}}}})");
}

TEST(AuthRequestTest, what_is_missing_or_unknown_is_named) {
  Cloud cloud;
  EXPECT_THROW(token_url(cloud), CloudsError);
  EXPECT_THROW(auth_request(cloud), CloudsError);
  cloud.name = "one";
  cloud.file = "/etc/clouds.yaml";
  cloud.auth = {{"auth_url", "http://k"}};
  cloud.auth_type = "v3oidcpassword";
  try {
    check_credentials(cloud);
    FAIL() << "accepted";
  } catch (const CloudsError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("/etc/clouds.yaml: cloud one: auth_type "
                                                  "v3oidcpassword is not supported; use password"));
  }
}

TEST(AuthRequestTest, a_cloud_without_an_identity_service_has_one_header_for_all_calls) {
  Cloud cloud;
  EXPECT_EQ(fixed_credentials(cloud), std::nullopt);
  cloud.auth_type = "none";
  EXPECT_EQ(fixed_credentials(cloud)->first, "X-Auth-Token");
  EXPECT_THROW(check_credentials(cloud), CloudsError) << "there is no catalog";
  cloud.endpoints = {{"compute", "http://nova"}};
  EXPECT_NO_THROW(check_credentials(cloud));
  cloud.auth_type = "http_basic";
  EXPECT_THROW(check_credentials(cloud), CloudsError) << "no user";
  cloud.auth = {{"username", "u"}, {"password", "p"}};
  EXPECT_EQ(fixed_credentials(cloud), http::Headers::value_type("Authorization", "Basic dTpw"));
  EXPECT_NO_THROW(check_credentials(cloud));
}

TEST(CatalogTest, overrides_interface_and_region_choose) {
  const std::vector<ServiceEndpoint> catalog = {{"compute", "internal", "a", "http://inner/v2.1"},
                                                {"compute", "public", "a", "http://a/v2.1/"},
                                                {"compute", "public", "b", "http://b"},
                                                {"volume", "publicURL", "a", "http://v/v3/p"}};
  Cloud cloud;
  EXPECT_EQ(endpoint_of(catalog, ServiceKind::compute, cloud), "http://a/v2.1");
  cloud.region = "b";
  EXPECT_EQ(endpoint_of(catalog, ServiceKind::compute, cloud), "http://b/v2.1");
  EXPECT_EQ(endpoint_of(catalog, ServiceKind::network, cloud), std::nullopt);
  cloud.region = "a";
  EXPECT_EQ(endpoint_of(catalog, ServiceKind::volume, cloud), "http://v/v3/p");
  cloud.interfaces = {{"compute", "internal"}};
  EXPECT_EQ(endpoint_of(catalog, ServiceKind::compute, cloud), "http://inner/v2.1");
  cloud.endpoints = {{"network", "http://n:9696/"}};
  EXPECT_EQ(endpoint_of(catalog, ServiceKind::network, cloud), "http://n:9696/v2.0");
}

}  // namespace
}  // namespace nodepool::drivers::openstack
