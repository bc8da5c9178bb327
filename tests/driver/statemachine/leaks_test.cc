#include "driver/statemachine/leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/driver/statemachine/provider_test.h"

namespace nodepool::driver {
namespace {

using model::Node;
using model::NodeState;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Not;

Resource of_node(std::string id, std::string node, std::string provider = "cloud") {
  return {std::string(kInstanceResource),
          std::move(id),
          {{std::string(kNodeIdKey), std::move(node)},
           {std::string(kProviderNameKey), std::move(provider)}}};
}

Resource of_upload(std::string id, std::string build, std::string upload) {
  return {"image",
          std::move(id),
          {{std::string(kBuildIdKey), std::move(build)},
           {std::string(kUploadIdKey), std::move(upload)},
           {std::string(kProviderNameKey), "cloud"}}};
}

CloudImage image(std::string id, std::string build, std::string upload) {
  return {std::move(id), "trixie-1", of_upload("", std::move(build), std::move(upload)).metadata};
}

LeakDetector::Known knows(const std::string& nodes, const std::string& uploads = "") {
  return {
      .node = [nodes](const std::string& id, const Resource&) { return nodes.contains(id); },
      .upload = [uploads](const std::string& build,
                          const std::string& upload) { return uploads == build + "-" + upload; }};
}

TEST(LeakDetector, whatever_is_unknown_twice_in_a_row_is_a_leak) {
  LeakDetector detector("cloud");
  const std::vector<Resource> resources{of_node("m1", "0001"), of_node("m2", "0002")};
  EXPECT_THAT(detector.look_at(resources, knows("0001")), IsEmpty());
  EXPECT_THAT(detector.look_at(resources, knows("0001")), ElementsAre(Field(&Resource::id, "m2")));
  EXPECT_THAT(detector.look_at(resources, knows("0001")), ElementsAre(Field(&Resource::id, "m2")))
      << "it was not deleted: once more";
}

TEST(LeakDetector, what_becomes_known_or_vanishes_meanwhile_is_none) {
  LeakDetector detector("cloud");
  const std::vector<Resource> resources{of_node("m1", "0001")};
  EXPECT_THAT(detector.look_at(resources, knows("")), IsEmpty());
  EXPECT_THAT(detector.look_at(resources, knows("0001")), IsEmpty());
  EXPECT_THAT(detector.look_at(resources, knows("")), IsEmpty()) << "two looks apart";
  EXPECT_THAT(detector.look_at({}, knows("")), IsEmpty());
  EXPECT_THAT(detector.look_at(resources, knows("")), IsEmpty());
}

TEST(LeakDetector, others_resources_are_none_of_its_business) {
  LeakDetector detector("cloud");
  const std::vector<Resource> resources{of_node("m1", "0001", "other"),
                                        {"volume", "v1", {}},
                                        {"volume", "v2", {{std::string(kNodeIdKey), "0001"}}}};
  for (int i = 0; i < 3; ++i) EXPECT_THAT(detector.look_at(resources, knows("")), IsEmpty());
}

TEST(LeakDetector, uploads_count_by_build_and_upload) {
  LeakDetector detector("cloud");
  const std::vector<Resource> resources{of_upload("i1", "b1", "u1"), of_upload("i2", "b1", "u2")};
  EXPECT_THAT(detector.look_at(resources, knows("", "b1-u1")), IsEmpty());
  EXPECT_THAT(detector.look_at(resources, knows("", "b1-u1")),
              ElementsAre(Field(&Resource::id, "i2")));
}

class LeakTest : public ProviderTest {
 protected:
  void look() { process_->run(process_->provider().remove_leaks()); }
};

TEST_F(LeakTest, a_machine_of_a_node_that_is_gone_is_deleted_at_the_second_look) {
  cloud_->others = {of_node("m1", "0000000077"), of_node("m2", "0000000077", "other")};
  start();
  look();
  EXPECT_THAT(cloud_->others, testing::SizeIs(2));
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, "m2")));
}

TEST_F(LeakTest, a_launcher_that_has_just_started_remembers_nothing) {
  cloud_->others = {of_node("m1", "0000000077")};
  start();
  look();
  start();
  look();
  EXPECT_THAT(cloud_->others, testing::SizeIs(1));
}

TEST_F(LeakTest, a_node_that_is_being_launched_keeps_whatever_it_has) {
  const std::string id = add_node();
  cloud_->others = {of_node("m1", id), of_node("m2", id)};
  start();
  look();
  look();
  EXPECT_THAT(cloud_->others, testing::SizeIs(2));
}

TEST_F(LeakTest, a_second_machine_of_a_ready_node_is_deleted) {
  const Node node = launch_new();
  cloud_->others = {of_node(node.external_id_text(), node.id), of_node("m2", node.id)};
  look();
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, node.external_id_text())));
}

TEST_F(LeakTest, a_node_of_another_provider_is_no_excuse) {
  const std::string id = installation_.add_node("other", "main", "small");
  cloud_->others = {of_node("m1", id)};
  start();
  look();
  look();
  EXPECT_THAT(cloud_->others, IsEmpty());
}

TEST_F(LeakTest, what_cannot_be_listed_or_deleted_is_tried_again) {
  cloud_->others = {of_node("m1", "0000000077"), of_node("m2", "0000000078")};
  start();
  look();
  cloud_->fail("resources", {CloudError::Kind::transient});
  look();
  EXPECT_THAT(cloud_->others, testing::SizeIs(2));
  EXPECT_TRUE(has_logged("Could not look for leaked resources of nodes: resources went wrong"));
  cloud_->fail("remove instance m1", {CloudError::Kind::transient});
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, "m1"))) << "the first look counted";
  EXPECT_TRUE(has_logged("! Leaked instance m1 could not be deleted"));
  look();
  EXPECT_THAT(cloud_->others, IsEmpty());
}

TEST_F(LeakTest, an_image_whose_upload_is_known_stays) {
  const std::string upload = add_upload("b1", 10);
  cloud_->images = {image("i1", "b1", upload), image("i2", "b2", upload)};
  start();
  look();
  look();
  EXPECT_THAT(cloud_->images, ElementsAre(Field(&CloudImage::id, "i1")));
}

TEST_F(LeakTest, a_service_that_fails_keeps_nothing_else_from_being_cleaned_up) {
  const CloudError::Kind trouble = CloudError::Kind::transient;
  start();
  for (const std::string call : {"remove leftovers", "resources", "images"}) {
    SCOPED_TRACE(call);
    cloud_->faults.clear();
    cloud_->fail(call, {trouble}, 2);
    cloud_->others = {of_node("m1", "0000000077")};
    cloud_->images = {image("i1", "b1", "0000000007")};
    look();
    look();
    EXPECT_EQ(cloud_->others.empty(), call != "resources");
    EXPECT_EQ(cloud_->images.empty(), call != "images");
    look();
    look();
    EXPECT_THAT(cloud_->others, IsEmpty());
    EXPECT_THAT(cloud_->images, IsEmpty());
  }
}

TEST_F(LeakTest, what_the_cloud_does_not_get_rid_of_keeps_nothing_else) {
  cloud_->others = {of_node("m1", "0000000077"), of_node("m2", "0000000078")};
  start();
  look();
  cloud_->hangs = "remove instance m1";
  const auto begun = installation_.clock.now();
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, "m1")));
  EXPECT_EQ(installation_.clock.now() - begun, std::chrono::minutes(10)) << "and not for ever";
  EXPECT_TRUE(has_logged("Leaked instance m1 could not be deleted: "));
}

TEST_F(LeakTest, a_search_can_be_cut_short) {
  cloud_->others = {of_node("m1", "0000000077")};
  start();
  look();
  cloud_->hangs = "remove instance m1";
  const auto search = process_->begin(process_->provider().remove_leaks());
  process_->settle();
  EXPECT_FALSE(search->ended);
  process_->cancel();
  EXPECT_TRUE(search->ended);
}

// --- ids that are more than text

TEST(MachineIds, are_compared_by_their_value) {
  EXPECT_TRUE(may_be_machine(model::json_string("m1"), "m1"));
  EXPECT_FALSE(may_be_machine(model::json_string("m1"), "m2"));
  const model::Json object{R"({"host": "h1", "instance": "i1"})"};
  EXPECT_TRUE(may_be_machine(object, R"({"instance":"i1","host":"h1"})"));
  EXPECT_FALSE(may_be_machine(object, R"({"host": "h1", "instance": "i2"})"));
  EXPECT_TRUE(may_be_machine(object, "m1")) << "nobody can tell";
  EXPECT_TRUE(may_be_machine({}, "m1"));
}

TEST_F(LeakTest, a_second_machine_whose_id_is_an_object_is_deleted) {
  Node node = launch_new();
  node.external_id = model::Json{R"({"host": "h1", "instance": "i1"})"};
  installation_.write(node);
  const std::string own = R"({"host": "h1", "instance": "i1"})";
  cloud_->others = {of_node(own, node.id), of_node(R"({"host": "h1", "instance": "i2"})", node.id)};
  process_->settle();
  look();
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, own)));
}

}  // namespace
}  // namespace nodepool::driver
