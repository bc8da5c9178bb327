#include "tests/drivers/openstack/adapter_fixture.h"
#include "tests/drivers/request_ids.h"

namespace nodepool::drivers::openstack {
namespace {

using driver::CloudError;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Kind = CloudError::Kind;
using Json = StandIn::Json;

// What there is in the project besides the making of machines.
using ProjectTest = AdapterTest;

TEST_F(ProjectTest, limits_are_those_of_both_services_and_minus_one_is_none) {
  EXPECT_EQ(
      describe().limits,
      (driver::Limits{{"instances", 10}, {"ram", 51200}, {"volumes", 20}, {"volume-gb", 1000}}));
}

TEST_F(ProjectTest, a_cloud_without_volumes_has_no_limits_of_them) {
  cloud_.has_volume_service = false;
  EXPECT_EQ(describe().limits, (driver::Limits{{"instances", 10}, {"ram", 51200}}));
}

TEST_F(ProjectTest, machines_of_others_count_by_flavor_and_volumes) {
  cloud_.volumes = {{{"id", "id-v"}, {"size", 7}}};
  const std::string known = cloud_.add_server("a", "id-big", {{"owner", "x"}});
  cloud_.servers[known]["os-extended-volumes:volumes_attached"] = Json::array({{{"id", "id-v"}}});
  cloud_.add_server("b", "id-of-a-deleted-flavor", Json::object());
  const auto instances = loop_.run(adapter().list()).machines;
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(instances[0].resources,
            driver::Resources(
                {{"instances", 1}, {"cores", 4}, {"ram", 8192}, {"volumes", 1}, {"volume-gb", 7}}));
  EXPECT_EQ(instances[0].metadata.at("owner"), "x");
  EXPECT_EQ(instances[1].resources, driver::Resources({{"instances", 1}}));
}

TEST_F(ProjectTest, zones_that_are_available_are_shown) {
  EXPECT_THAT(describe().zones, ElementsAre("az1"));
}

TEST_F(ProjectTest, networks_of_the_configuration_that_are_missing_are_named) {
  EXPECT_THAT(describe(driver::CloudDescription::Purpose::check).missing, IsEmpty());
  cloud_.networks[0]["name"] = "renamed";
  loop_.run(adapter().stop());
  make_adapter();
  EXPECT_THAT(describe(driver::CloudDescription::Purpose::check).missing,
              ElementsAre("there is no network `private`"));
}

TEST_F(ProjectTest, a_cloud_may_refuse_to_list_its_zones) {
  cloud_.fail("GET /compute/os-availability-zone", {403}, "Policy");
  EXPECT_THAT(describe().zones, IsEmpty());
}

TEST_F(ProjectTest, a_proxy_may_refuse_to_list_the_zones) {
  for (const int status : {403, 404}) {
    loop_.run(adapter().stop());
    make_adapter();
    cloud_.fail("GET /compute/os-availability-zone", {status}, "<html>no</html>");
    EXPECT_THAT(describe().zones, IsEmpty()) << status;
  }
}

TEST_F(ProjectTest, a_launch_trace_has_the_request_ids) {
  loop_.run(adapter().list());  // gets the token
  for (const char* header : {"X-Openstack-Request-Id", "X-Compute-Request-Id", "X-Request-Id"}) {
    cloud_.request_id_header = header;
    const std::string port = cloud_.add_port("", "id-net", "10.0.0.9", "", "DOWN");
    const driver::Resource leaked{.type = "port", .id = port, .metadata = {}};
    EXPECT_THAT(request_ids(loop_, runtime_, adapter().remove_resource(leaked)),
                ElementsAre(testing::StartsWith("req-")))
        << header;
  }
}

TEST_F(ProjectTest, leaked_machines_are_shown_and_deleted) {
  cloud_.add_server("a", "id-big", {{"nodepool_provider_name", "os"}});
  const auto machines = loop_.run(adapter().list()).machines;
  ASSERT_THAT(machines, SizeIs(1));
  const driver::Resource leaked = machines[0].as_resource();
  EXPECT_EQ(leaked.type, "instance");
  EXPECT_EQ(leaked.metadata.at("nodepool_provider_name"), "os");
  driver::Resource other = leaked;
  other.type = "volume";
  EXPECT_THROW(loop_.run(adapter().remove_resource(other)), driver::CloudError);
  EXPECT_THAT(cloud_.servers, SizeIs(1)) << "what is no server is not deleted as one";
  loop_.run(adapter().remove_resource(leaked));
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(ProjectTest, ports_that_stay_down_and_unused_are_deleted) {
  provider_options_ = "    port-cleanup-interval: 1\n";
  cloud_.ports.clear();
  const std::string unused = cloud_.add_port("", "id-net", "10.0.0.9", "compute:az1", "DOWN");
  const std::string router = cloud_.add_port("", "id-net", "10.0.0.1", "network:router", "DOWN");
  EXPECT_THAT(loop_.run(adapter().other_resources()), IsEmpty());
  std::vector<driver::Resource> found;
  while (found.empty()) {
    loop_.run(clock_.sleep_for(std::chrono::milliseconds(50)));
    found = loop_.run(adapter().other_resources());
  }
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].type, "port");
  EXPECT_EQ(found[0].leftover, "it was DOWN and unused");
  loop_.run(adapter().remove_resource(found[0]));
  EXPECT_FALSE(cloud_.ports.contains(unused));
  EXPECT_TRUE(cloud_.ports.contains(router));
}

TEST_F(ProjectTest, floating_ips_that_lead_nowhere_are_deleted_where_the_operator_says_so) {
  const auto add = [this](const std::string& id, const Json& port) {
    cloud_.floating_ips[id] = {
        {"id", id}, {"floating_ip_address", "198.51.100.1"}, {"port_id", port}, {"status", "DOWN"}};
  };
  add("id-free", nullptr);
  add("id-used", "id-port");
  EXPECT_THAT(loop_.run(adapter().other_resources()), IsEmpty());
  provider_options_ = "    clean-floating-ips: true\n";
  loop_.run(adapter().stop());
  make_adapter();
  const auto found = loop_.run(adapter().other_resources());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].type, "floatingip");
  loop_.run(adapter().remove_resource(found[0]));
  EXPECT_THAT(cloud_.floating_ips, ElementsAre(testing::Key("id-used")));
}

class ImagesTest : public AdapterTest {
 protected:
  async::Task<std::string> upload() {
    const driver::ImageFile file{.path = directory_.write("image.qcow2", content_),
                                 .format = "qcow2",
                                 .md5 = "m",
                                 .sha256 = "s"};
    driver::Metadata metadata = {{"nodepool_upload_id", "7"},
                                 {"nodepool_provider_name", "os"},
                                 {"min_ram", "512"},
                                 {"tags", tags_}};
    metadata.insert(meta_.begin(), meta_.end());
    return adapter().traits().images->upload({}, "trixie-1700000000", file, std::move(metadata),
                                             [this](std::uint64_t sent) { sent_ = sent; });
  }

  std::string content_ = std::string(3'000'000, 'x') + "end";
  std::uint64_t sent_ = 0;
  std::string tags_ = "ci";
  driver::Metadata meta_;
};

TEST_F(ImagesTest, tags_are_a_list) {
  EXPECT_EQ(cloud_.images.at(loop_.run(upload()))["tags"].dump(), R"(["ci"])");
  tags_ = R"(["ci","debian"])";
  EXPECT_EQ(cloud_.images.at(loop_.run(upload()))["tags"].dump(), R"(["ci","debian"])");
}

TEST_F(ImagesTest, an_image_is_uploaded_with_its_properties) {
  cloud_options_ = "disable_vendor_agent: {vm_mode: hvm}, ";
  const std::string id = loop_.run(upload());
  EXPECT_TRUE(cloud_.image_files.at(id) == content_);
  EXPECT_EQ(sent_, content_.size());
  const Json image = cloud_.images.at(id);
  EXPECT_EQ(image["status"], "active");
  EXPECT_EQ(image["name"], "trixie-1700000000");
  EXPECT_EQ(image["disk_format"], "qcow2");
  EXPECT_EQ(image["container_format"], "bare");
  EXPECT_EQ(image["visibility"], "private");
  EXPECT_EQ(image["min_ram"], 512);
  EXPECT_EQ(image["vm_mode"], "hvm");
  EXPECT_EQ(image["nodepool_upload_id"], "7");
  EXPECT_EQ(image["owner_specified.openstack.md5"], "m");
  EXPECT_EQ(image["owner_specified.openstack.sha256"], "s");
  EXPECT_EQ(image["owner_specified.openstack.object"], "images/trixie-1700000000");

  const auto list = loop_.run(adapter().traits().images->list());
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].metadata.at("nodepool_upload_id"), "7");
  loop_.run(adapter().traits().images->remove("trixie-1700000000", id));
  loop_.run(adapter().traits().images->remove("trixie-1700000000", id));
  EXPECT_THAT(cloud_.images, SizeIs(1));
}

TEST_F(ImagesTest, the_visibility_and_the_container_of_an_image_can_be_set) {
  meta_ = {{"visibility", "shared"}, {"container_format", "docker"}, {"disk_format", "raw"}};
  const Json image = cloud_.images.at(loop_.run(upload()));
  EXPECT_EQ(image["visibility"], "shared");
  EXPECT_EQ(image["container_format"], "docker");
  EXPECT_EQ(image["disk_format"], "qcow2");
}

// As openstacksdk interprets them.
TEST_F(ImagesTest, further_properties_may_be_nested_and_import_arguments_are_none) {
  meta_ = {
      {"a", "1"},
      {"use_import", "True"},
      {"properties", R"({"a": 2, "b": true, "c": null, "d": "x", "nodepool_upload_id": "8"})"}};
  const Json image = cloud_.images.at(loop_.run(upload()));
  EXPECT_EQ(image["a"], "2");
  EXPECT_EQ(image["b"], "True");
  EXPECT_EQ(image["c"], "");
  EXPECT_EQ(image["d"], "x");
  EXPECT_EQ(image["nodepool_upload_id"], "7");
  EXPECT_FALSE(image.contains("use_import"));
  EXPECT_FALSE(image.contains("properties"));
}

// Each is deleted with its own upload.
TEST_F(ImagesTest, two_uploads_of_the_same_file_are_two_images) {
  const std::string id = loop_.run(upload());
  const std::string other = loop_.run(upload());
  EXPECT_NE(other, id);
  loop_.run(adapter().traits().images->remove("trixie-1700000000", id));
  EXPECT_TRUE(cloud_.images.contains(other));
}

TEST_F(ImagesTest, a_failed_upload_leaves_nothing) {
  meta_ = {{"a", "1"}, {"properties", R"({"a": 2})"}};
  cloud_.fail("PUT /image/images/ID/file", {400});
  EXPECT_EQ(failure_of(upload())->kind(), Kind::failed);
  cloud_.fail("POST /image/images", {-1});
  EXPECT_EQ(failure_of(upload())->kind(), Kind::unknown_outcome);
  cloud_.image_status = "killed";
  EXPECT_THAT(failure_of(upload())->what(), HasSubstr("killed"));
  EXPECT_THAT(cloud_.images, SizeIs(1));  // that which is not ours
}

// Administrators see the private images of all projects, and users what others share with them.
TEST_F(ImagesTest, images_of_other_projects_are_neither_listed_nor_deleted) {
  meta_ = {{"visibility", "shared"}};
  const std::string own = loop_.run(upload());
  for (const char* visibility : {"private", "shared"}) {
    Json& image = cloud_.images[std::string("id-") + visibility];
    image = cloud_.images.at(own);
    image["id"] = std::string("id-") + visibility;
    image["visibility"] = visibility;
    image["owner"] = "project-of-others";
  }
  const auto list = loop_.run(adapter().traits().images->list());
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].id, own);
  loop_.run(adapter().traits().images->remove("trixie-1700000000", ""));
  EXPECT_FALSE(cloud_.images.contains(own));
  EXPECT_THAT(cloud_.images, SizeIs(3)) << "with the public one";
}

TEST_F(ImagesTest, an_image_without_a_known_id_is_deleted_by_its_name) {
  loop_.run(upload());
  loop_.run(adapter().traits().images->remove("trixie-1700000000", ""));
  loop_.run(adapter().traits().images->remove("jammy", ""));  // not ours
  EXPECT_THAT(cloud_.images, SizeIs(1));
}

TEST(StallLimitTest, allows_for_the_size_of_the_image) {
  using std::chrono::minutes;
  using std::chrono::seconds;
  EXPECT_EQ(stall_limit(0, seconds(30)), minutes(10));
  EXPECT_EQ(stall_limit(0, minutes(60)), minutes(60));
  EXPECT_EQ(stall_limit(std::uint64_t{20} << 30, minutes(60)), minutes(60) + seconds(20 << 10));
}

TEST_F(ImagesTest, import_tasks_are_reported_as_unsupported) {
  cloud_options_ = "image_api_use_tasks: true, ";
  EXPECT_EQ(failure_of(upload())->kind(), Kind::permanent);
}

}  // namespace
}  // namespace nodepool::drivers::openstack
