#include "driver/launch_metrics.h"
#include "tests/drivers/openstack/adapter_fixture.h"

namespace nodepool::drivers::openstack {
namespace {

using driver::CloudError;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = CloudError::Kind;
using Json = StandIn::Json;

// Networks, floating IPs, and clouds without them.
using NetworkTest = AdapterTest;

TEST_F(NetworkTest, a_floating_ip_is_attached_where_there_is_no_other_way_in) {
  cloud_.networks.push_back({{"id", "id-ext"}, {"name", "out"}, {"router:external", true}});
  const driver::Instance instance = create();
  ASSERT_THAT(cloud_.floating_ips, SizeIs(1));
  const Json floating_ip = cloud_.floating_ips.begin()->second;
  EXPECT_EQ(floating_ip["floating_network_id"], "id-ext");
  EXPECT_EQ(floating_ip["fixed_ip_address"], *instance.private_ipv4);
  EXPECT_EQ(floating_ip["floating_ip_address"], *instance.public_ipv4);
  EXPECT_EQ(instance.interface_ip, instance.public_ipv4);
  loop_.run(remove(instance.external_id));
  EXPECT_THAT(cloud_.floating_ips, IsEmpty());
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(NetworkTest, a_floating_ip_with_a_lost_response_is_not_created_twice) {
  cloud_.networks.push_back({{"id", "id-ext"}, {"name", "out"}, {"router:external", true}});
  for (const int loss : {-1, -2}) {
    cloud_.servers.clear();
    cloud_.floating_ips.clear();
    launch_.journal = {};
    cloud_.fail("POST /network/floatingips", {loss});
    create();
    EXPECT_THAT(cloud_.floating_ips, SizeIs(1));
  }
}

TEST_F(NetworkTest, a_floating_ip_that_is_not_there_in_time_has_a_result_of_its_own) {
  cloud_.networks.push_back({{"id", "id-ext"}, {"name", "out"}, {"router:external", true}});
  cloud_.floating_ip_status = "DOWN";
  poll_policy_.floating_ip_limit = poll_policy_.poll;
  const driver::CloudError error = failure();
  EXPECT_THAT(error.what(), HasSubstr("has not become ACTIVE: its status is DOWN"));
  EXPECT_EQ(driver::result_of(error), "error.ipadd");
}

TEST_F(NetworkTest, a_floating_ip_that_is_refused_for_quota_leaves_a_machine_to_delete) {
  cloud_.networks.push_back({{"id", "id-ext"}, {"name", "out"}, {"router:external", true}});
  cloud_.fail("POST /network/floatingips", {409}, "Quota exceeded for resources: ['floatingip'].");
  EXPECT_EQ(failure().kind(), Kind::quota);
  loop_.run(remove(launch_.node().external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(NetworkTest, without_routers_there_are_no_floating_ips_to_delete) {
  cloud_.has_routers = false;
  const driver::Instance instance = create();
  loop_.run(remove(instance.external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(NetworkTest, a_server_with_a_floating_ip_is_kept_where_floating_ips_cannot_be_listed) {
  const std::string id = cloud_.add_server("s", "id-small", Json::object());
  cloud_.servers[id]["addresses"]["private"].push_back(
      {{"addr", "198.51.100.1"}, {"version", 4}, {"OS-EXT-IPS:type", "floating"}});
  cloud_.has_routers = false;
  for (const char* options : {"", "has_network: false, "}) {
    cloud_options_ = options;
    make_adapter();
    const auto error = failure_of(remove(model::json_string(id)));
    ASSERT_TRUE(error) << options;
    EXPECT_EQ(error->kind(), Kind::transient) << options;
    EXPECT_THAT(error->what(), HasSubstr("floating IPs that cannot be listed")) << options;
    EXPECT_THAT(cloud_.servers, SizeIs(1)) << options;
    loop_.run(adapter().stop());
  }
  cloud_options_ = "has_network: false, floating_ip_source: None, ";
  make_adapter();
  loop_.run(remove(model::json_string(id)));
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

constexpr const char* kForbidden = "rule:get_network is disallowed by policy";

// While floating IPs cannot be listed.
class NetworkOutageTest : public NetworkTest {
 protected:
  std::optional<CloudError> deletion_failure() {
    cloud_.fail("GET /network/floatingips", {404}, kProxyPage);  // transient, without a retry
    return failure_of(remove(launch_.node().external_id));
  }
};

TEST_F(NetworkOutageTest, the_server_of_a_failed_launch_without_a_floating_ip_is_deleted) {
  create();
  EXPECT_FALSE(deletion_failure());
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(NetworkOutageTest, the_server_of_a_launch_that_has_begun_a_floating_ip_is_kept) {
  cloud_.networks.push_back({{"id", "id-ext"}, {"name", "out"}, {"router:external", true}});
  create();
  loop_.run(adapter().stop());
  make_adapter();  // without lists of before
  const auto error = deletion_failure();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), Kind::transient);
  EXPECT_THAT(cloud_.servers, SizeIs(1)) << "its list entry does not show the floating IP";
}

TEST_F(NetworkOutageTest, the_server_of_a_node_is_deleted_by_its_recorded_address) {
  const driver::Instance instance = create();
  launch_.node().launch_journal = {};
  launch_.node().public_ipv4 = std::nullopt;
  EXPECT_TRUE(deletion_failure()) << "the record says nothing";
  launch_.node().public_ipv4 = "198.51.100.9";
  EXPECT_TRUE(deletion_failure()) << "the address may be a floating IP";
  launch_.node().public_ipv4 = *instance.private_ipv4;
  EXPECT_FALSE(deletion_failure()) << "the address is the server's own";
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(NetworkOutageTest, the_server_of_a_node_without_a_public_address_is_deleted) {
  create();
  launch_.node().launch_journal = {};
  launch_.node().public_ipv4 = "";
  EXPECT_FALSE(deletion_failure());
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(NetworkOutageTest, a_record_without_external_addresses_says_nothing) {
  cloud_options_ = "use_external_network: false, ";
  create();
  launch_.node().launch_journal = {};
  launch_.node().public_ipv4 = "";
  EXPECT_TRUE(deletion_failure());
  EXPECT_THAT(cloud_.servers, SizeIs(1));
}

TEST_F(NetworkOutageTest, a_launch_of_the_python_nodepool_may_have_a_floating_ip) {
  create();
  launch_.node().launch_journal = driver::LaunchJournal{.undo = true, .steps = {}}.to_json();
  EXPECT_TRUE(deletion_failure());
  launch_.node().launch_journal = model::Json{"{}"};
  EXPECT_TRUE(deletion_failure()) << "the journal is unreadable";
  EXPECT_THAT(cloud_.servers, SizeIs(1));
}

TEST_F(NetworkOutageTest, a_server_that_is_not_listed_or_shows_a_floating_ip_is_kept) {
  create();
  loop_.run(adapter().stop());
  make_adapter();  // without lists of before
  cloud_.servers_answer = R"({"servers": []})";
  EXPECT_TRUE(deletion_failure());
  cloud_.servers_answer.reset();
  loop_.run(adapter().stop());
  make_adapter();
  cloud_.servers.begin()->second["addresses"]["private"].push_back(
      {{"addr", "198.51.100.1"}, {"version", 4}, {"OS-EXT-IPS:type", "floating"}});
  EXPECT_TRUE(deletion_failure());
  EXPECT_THAT(cloud_.servers, SizeIs(1));
}

TEST_F(NetworkOutageTest, a_refusal_to_list_floating_ips_does_not_mean_that_there_are_none) {
  cloud_.networks.push_back({{"id", "id-ext"}, {"name", "out"}, {"router:external", true}});
  create();
  loop_.run(adapter().stop());
  make_adapter();  // without lists of before
  cloud_.fail("GET /network/floatingips", {403}, kForbidden);
  const auto error = failure_of(remove(launch_.node().external_id));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr(kForbidden));
  EXPECT_THAT(cloud_.servers, SizeIs(1)) << "its list entry does not show the floating IP";
}

TEST_F(NetworkOutageTest, a_launch_ends_when_its_floating_ip_may_not_be_listed) {
  cloud_.networks.push_back({{"id", "id-ext"}, {"name", "out"}, {"router:external", true}});
  cloud_.fail("GET /network/floatingips", {403}, kForbidden);
  EXPECT_THAT(failure().what(), HasSubstr(kForbidden));
}

TEST_F(NetworkTest, has_network_false_is_a_cloud_without_a_network_service) {
  cloud_options_ = "has_network: false, ";
  const driver::Instance instance = create();
  EXPECT_THAT(loop_.run(adapter().list()).machines, SizeIs(1));
  EXPECT_THAT(loop_.run(adapter().other_resources()), IsEmpty());
  loop_.run(remove(instance.external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());
  EXPECT_EQ(cloud_.count_all("GET /network"), 0);
}

TEST_F(NetworkTest, a_network_service_that_refuses_is_not_needed) {
  cloud_.network_of_servers = "public";  // an address that is usable without it
  for (const char* list : {"GET /network/networks", "GET /network/floatingips"}) {
    cloud_.fail(list, std::vector<int>(20, 403), kForbidden);
  }
  const driver::Instance instance = create();
  EXPECT_FALSE(instance.interface_ip.value_or("").empty());
  EXPECT_THAT(loop_.run(adapter().list()).machines, SizeIs(1));
  const std::size_t warned = log_.find(kForbidden);
  EXPECT_NE(warned, std::string::npos);
  EXPECT_EQ(log_.find(kForbidden, warned + 1), std::string::npos) << log_;
  loop_.run(remove(instance.external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(NetworkTest, networks_are_listed_again_after_a_refusal) {
  cloud_.fail("GET /network/networks", {403, 403}, kForbidden);
  loop_.run(adapter().list());
  create("special");
  EXPECT_THAT(cloud_.servers, SizeIs(1));
}

TEST_F(NetworkTest, networks_that_have_been_listed_are_not_unknown_after_a_refusal) {
  cloud_.network_of_servers = "public";  // an address that is usable without them
  create();
  launch_.journal = {};
  cloud_.fail("POST /compute/servers", {400}, "Invalid imageRef");
  EXPECT_EQ(failure().kind(), Kind::failed);  // which drops the list of networks
  cloud_.fail("GET /network/networks", std::vector<int>(20, 403), kForbidden);
  EXPECT_THAT(failure().what(), HasSubstr(kForbidden));
  EXPECT_THAT(failure_of(adapter().list())->what(), HasSubstr(kForbidden));
  EXPECT_THAT(cloud_.servers, SizeIs(1));
  cloud_.fail("GET /network/networks", {});
  create();
  EXPECT_THAT(cloud_.servers, SizeIs(2));
}

TEST_F(NetworkTest, a_network_service_that_refuses_is_an_error_where_it_is_needed) {
  cloud_.fail("GET /network/networks", std::vector<int>(40, 403), kForbidden);
  for (const char* label : {"special", "small"}) {  // with a network's name; without an address
    launch_.journal = {};
    const CloudError error = failure(label);
    EXPECT_EQ(error.kind(), Kind::permanent) << label;
    EXPECT_THAT(error.what(), HasSubstr(kForbidden)) << label;
  }
  EXPECT_TRUE(failure_of(adapter().describe(driver::CloudDescription::Purpose::check)));
}

TEST_F(NetworkTest, networks_of_clouds_yaml_must_be_listed) {
  cloud_options_ = "networks: [{name: private, nat_destination: true}], ";
  cloud_.fail("GET /network/networks", std::vector<int>(20, 403), kForbidden);
  const auto error = failure_of(adapter().list());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), Kind::permanent);
}

}  // namespace
}  // namespace nodepool::drivers::openstack
