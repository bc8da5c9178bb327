#include "driver/statemachine/leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/paths.h"
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

constexpr const char* kHere = harness::kInstallationId;

// Made for a node; without an installation, by one that gives no marks.
Resource of_node(std::string id, std::string node, std::string provider = "cloud",
                 std::string installation = kHere) {
  Resource resource{std::string(kInstanceResource),
                    std::move(id),
                    {{std::string(kNodeIdKey), std::move(node)},
                     {std::string(kProviderNameKey), std::move(provider)}}};
  if (!installation.empty()) {
    resource.metadata.emplace(kInstallationIdKey, std::move(installation));
  }
  return resource;
}

Resource of_upload(std::string id, std::string build, std::string upload,
                   std::string installation = kHere) {
  Resource resource{"image",
                    std::move(id),
                    {{std::string(kBuildIdKey), std::move(build)},
                     {std::string(kUploadIdKey), std::move(upload)},
                     {std::string(kProviderNameKey), "cloud"}}};
  if (!installation.empty()) {
    resource.metadata.emplace(kInstallationIdKey, std::move(installation));
  }
  return resource;
}

CloudImage image(std::string id, std::string build, std::string upload,
                 std::string installation = kHere) {
  return {std::move(id), "trixie-1",
          of_upload("", std::move(build), std::move(upload), std::move(installation)).metadata};
}

// Node `known` has a machine `m-known`; there is an upload `b1`-`u1`.
const RecordQueries kRecords{
    .node =
        [](const std::string& id, const Resource& resource) {
          if (id != "0000000001") return RecordQueries::Node::none;
          const bool is_its = resource.id == "m-known";
          return is_its ? RecordQueries::Node::has_it : RecordQueries::Node::has_other;
        },
    .upload = [](const std::string& build,
                 const std::string& upload) { return build == "b1" && upload == "u1"; }};

std::vector<Leak> leaks_among(const std::vector<Resource>& resources, std::int64_t first_node = 0) {
  const Ownership ownership(std::make_shared<const model::Installation>(kHere, first_node),
                            "cloud");
  return find_leaks(resources, ownership, kRecords);
}

auto is_leak(const std::string& id, bool is_ours, const std::string& reason) {
  return testing::AllOf(Field(&Leak::id, id), Field(&Leak::is_ours, is_ours),
                        Field(&Leak::reason, testing::HasSubstr(reason)));
}

TEST(Leaks, resources_of_this_installation_without_a_record_are_leaks) {
  EXPECT_THAT(leaks_among({of_node("m-known", "0000000001"), of_node("m1", "0000000001"),
                           of_node("m2", "0000000002"), of_upload("i1", "b1", "u1"),
                           of_upload("i2", "b1", "u2")}),
              ElementsAre(is_leak("m1", true, "node 0000000001 has another machine"),
                          is_leak("m2", true, "node 0000000002 has no record"),
                          is_leak("i2", true, "upload u2 of build b1 has no record")));
}

TEST(Leaks, resources_of_another_installation_are_left_alone) {
  EXPECT_THAT(leaks_among({of_node("m1", "0000000001", "cloud", "there"),
                           of_node("m2", "0000000002", "cloud", "there"),
                           of_upload("i2", "b1", "u2", "there")},
                          1000),
              ElementsAre(is_leak("m1", false, "made by installation there"),
                          is_leak("m2", false, "made by installation there"),
                          is_leak("i2", false, "made by installation there")));
}

TEST(Leaks, resources_without_an_owner_tag_belong_to_an_unknown_installation) {
  EXPECT_THAT(
      leaks_among({of_node("m1", "0000000001", "cloud", ""),
                   of_node("m2", "0000000002", "cloud", ""), of_upload("i2", "b1", "u2", "")}),
      ElementsAre(is_leak("m1", false, "unknown installation"),
                  is_leak("m2", false, "unknown installation"),
                  is_leak("i2", false, "unknown installation")));
}

TEST(Leaks, a_store_that_was_taken_over_knows_the_machines_of_before) {
  EXPECT_THAT(
      leaks_among(
          {of_node("m-known", "0000000001", "cloud", ""), of_node("m1", "0000000001", "cloud", ""),
           of_node("m2", "0000000002", "cloud", ""), of_node("m7", "0000000007", "cloud", ""),
           of_upload("i2", "b1", "u2", "")},
          5),
      ElementsAre(is_leak("m1", true, "another machine"), is_leak("m2", true, "no record"),
                  is_leak("m7", true, "no record"), is_leak("i2", false, "unknown installation")));
  // Beside it a Python launcher may have made node 1, and somebody else another one of this id.
  EXPECT_THAT(leaks_among({of_node("m1", "0000000001", "cloud", "")}, 1),
              ElementsAre(is_leak("m1", false, "unknown installation")));
}

TEST(Leaks, resources_of_others_are_ignored) {
  EXPECT_THAT(leaks_among({of_node("m1", "0000000002", "other"),
                           {"volume", "v1", {}},
                           {"volume", "v2", {{std::string(kNodeIdKey), "0000000002"}}},
                           {"volume", "v3", {{std::string(kProviderNameKey), "cloud"}}}}),
              IsEmpty());
}

TEST(Leaks, only_resources_in_two_successive_listings_are_confirmed) {
  LeakMemory memory;
  const std::vector<Leak> leaks = leaks_among({of_node("m1", "0000000002")});
  EXPECT_THAT(memory.seen_again(leaks), IsEmpty());
  EXPECT_THAT(memory.seen_again(leaks), ElementsAre(Field(&Leak::id, "m1")));
  EXPECT_THAT(memory.seen_again(leaks), ElementsAre(Field(&Leak::id, "m1")))
      << "it was not deleted: once more";
  EXPECT_THAT(memory.seen_again({}), IsEmpty());
  EXPECT_THAT(memory.seen_again(leaks), IsEmpty());
}

class LeakTest : public ProviderTest {
 protected:
  void look() {
    process_->pass(std::chrono::minutes(1));
    process_->run(process_->provider().launching()->remove_leaks());
  }
};

TEST_F(LeakTest, a_leaked_machine_is_deleted_at_the_second_check) {
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

// Somebody may be working on it.
TEST_F(LeakTest, a_node_with_an_unreadable_record_keeps_its_machine) {
  const Node node = launch_new();
  cloud_->others = {of_node(node.external_id_text(), node.id), of_node("m1", "0000000077")};
  installation_.write_data(model::node_path(node.id), "{\"state\": \"wishful\"}");
  look();
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, node.external_id_text())));
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
  cloud_->fail("list", {CloudError::Kind::transient});
  look();
  EXPECT_THAT(cloud_->others, testing::SizeIs(2));
  EXPECT_TRUE(has_logged("Error searching for leaked resources of nodes: list went wrong"));
  cloud_->fail("remove instance m1", {CloudError::Kind::transient});
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, "m1"))) << "the first look counted";
  EXPECT_TRUE(has_logged("! Error deleting leaked instance m1"));
  look();
  EXPECT_THAT(cloud_->others, IsEmpty());
}

TEST_F(LeakTest, only_the_first_failure_of_an_outage_and_its_end_are_logged) {
  const auto count = [this](const std::string& text) {
    return std::ranges::count_if(installation_.log,
                                 [&](const std::string& line) { return line.contains(text); });
  };
  const std::string failure = "! Error searching for leaked resources of nodes: list went wrong";
  const std::string end = "The search for leaked resources of nodes works again";
  start();
  for (int outage = 1; outage <= 2; ++outage) {
    for (int i = 0; i < 3; ++i) {
      cloud_->fail("list", {CloudError::Kind::transient});
      look();
    }
    EXPECT_EQ(count(failure), outage);
    EXPECT_EQ(count(end), outage - 1);
    look();
    look();
    EXPECT_EQ(count(end), outage);
  }
}

TEST_F(LeakTest, an_image_with_an_upload_record_stays) {
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
  for (const std::string call : {"list", "images"}) {
    SCOPED_TRACE(call);
    cloud_->faults.clear();
    cloud_->fail(call, {trouble}, 2);
    cloud_->others = {of_node("m1", "0000000077")};
    cloud_->images = {image("i1", "b1", "0000000007")};
    look();
    look();
    EXPECT_EQ(cloud_->others.empty(), call != "list");
    EXPECT_EQ(cloud_->images.empty(), call != "images");
    look();
    look();
    EXPECT_THAT(cloud_->others, IsEmpty());
    EXPECT_THAT(cloud_->images, IsEmpty());
  }
}

TEST_F(LeakTest, an_undeletable_resource_does_not_block_others) {
  cloud_->others = {of_node("m1", "0000000077"), of_node("m2", "0000000078")};
  start();
  look();
  cloud_->hangs = "remove instance m1";
  const auto begun = installation_.clock.now();
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, "m1")));
  EXPECT_EQ(installation_.clock.now() - begun, std::chrono::minutes(11)) << "and not for ever";
  EXPECT_TRUE(has_logged("Error deleting leaked instance m1: "));
}

TEST_F(LeakTest, a_search_can_be_cut_short) {
  cloud_->others = {of_node("m1", "0000000077")};
  start();
  look();
  cloud_->hangs = "remove instance m1";
  const auto search = process_->begin(process_->provider().launching()->remove_leaks());
  process_->settle();
  EXPECT_FALSE(search->ended);
  process_->cancel();
  EXPECT_TRUE(search->ended);
}

// --- a store that has no reason to know

TEST_F(LeakTest, an_empty_store_does_not_delete_resources_of_others) {
  cloud_->others = {of_node("m1", "0000000000", "cloud", ""),
                    of_node("m2", "0000000077", "cloud", "there")};
  cloud_->images = {image("i1", "b1", "0000000001", ""), image("i2", "b2", "0000000001", "there")};
  start();
  for (int i = 0; i < 4; ++i) look();
  EXPECT_THAT(cloud_->others, testing::SizeIs(2));
  EXPECT_THAT(cloud_->images, testing::SizeIs(2));
  EXPECT_EQ(
      std::ranges::count_if(installation_.log,
                            [](const std::string& line) { return line.contains("Not deleting "); }),
      4)
      << "each is logged once";
}

TEST_F(LeakTest, a_machine_of_another_installation_is_not_that_of_the_node_with_the_same_id) {
  const Node node = launch_new();
  ASSERT_EQ(node.id, "0000000000");
  cloud_->others = {of_node("m1", node.id, "cloud", ""), of_node("m2", node.id, "cloud", "there")};
  for (int i = 0; i < 3; ++i) look();
  EXPECT_THAT(cloud_->others, testing::SizeIs(2));
}

TEST_F(LeakTest, what_was_made_for_an_earlier_node_with_the_same_id_is_deleted) {
  const std::string id = add_node();
  const Node ready = launch_new();
  Resource volume = of_node("v1", ready.id);
  volume.type = "volume";
  cloud_->others = {of_node("m1", id), of_node("m2", id), of_node("m3", ready.id), volume};
  for (Resource& other : cloud_->others) other.metadata[std::string(kNodeCreatedKey)] = "16.000000";
  cloud_->others[1].metadata = owner_tags(node(id));
  look();
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, "m2")));
  EXPECT_TRUE(has_logged("Deleted leaked instance m1: made for an earlier node with the id " + id));
}

TEST_F(LeakTest, a_store_that_was_taken_over_cleans_up_as_before) {
  installation_.identity.first_node = 100;
  cloud_->others = {of_node("m1", "0000000077", "cloud", ""),
                    of_node("m2", "0000000177", "cloud", ""),
                    of_node("m3", "0000000077", "cloud", "there")};
  start();
  look();
  look();
  EXPECT_THAT(cloud_->others, ElementsAre(Field(&Resource::id, "m3")));
}

TEST_F(LeakTest, a_store_that_is_lost_while_the_launcher_runs_is_no_reason_to_delete_anything) {
  const Node node = launch_new();
  cloud_->others = {of_node(node.external_id_text(), node.id)};
  installation_.remove_node(node.id);
  installation_.identity.id = "a new store's";
  installation_.write_identity();
  process_->settle();
  for (int i = 0; i < 3; ++i) look();
  EXPECT_THAT(cloud_->others, testing::SizeIs(1));
  EXPECT_TRUE(has_logged("The store no longer belongs to installation this-installation"));
  installation_.identity.id = kHere;
  installation_.write_identity();
  look();
  look();
  EXPECT_THAT(cloud_->others, IsEmpty());
}

TEST_F(LeakTest, an_operator_may_delete_what_is_left_alone) {
  cloud_->others = {of_node("m1", "0000000077", "cloud", "there")};
  cloud_->images = {image("i1", "b1", "0000000001", "")};
  start();
  const std::vector<Leak> leaks = process_->run(process_->provider().launching()->leaks());
  ASSERT_THAT(leaks, ElementsAre(is_leak("m1", false, "there"), is_leak("i1", false, "unknown")));
  for (const Leak& leak : leaks) process_->run(process_->provider().launching()->remove_leak(leak));
  EXPECT_THAT(cloud_->others, IsEmpty());
  EXPECT_THAT(cloud_->images, IsEmpty());
}

// --- ids that are more than text

TEST(MachineIds, are_compared_by_their_value) {
  const model::Json text = model::json_string("i1");
  const model::Json object{R"({"host": "h1", "instance": "i1"})"};
  EXPECT_TRUE(is_same_machine(text, text));
  EXPECT_FALSE(is_same_machine(text, model::json_string("i2")));
  EXPECT_TRUE(is_same_machine(object, {R"({"instance":"i1","host":"h1"})"}));
  EXPECT_TRUE(is_same_machine({R"({"instance":"i1"})"}, object));
  EXPECT_FALSE(is_same_machine(object, {R"({"host": "h1", "instance": "i2"})"}));
  EXPECT_TRUE(is_same_machine(object, text));
  EXPECT_FALSE(is_same_machine(model::json_string("m1"), object));
  EXPECT_FALSE(is_same_machine({}, {}));
  EXPECT_FALSE(is_same_machine({"7"}, {"7"})) << "no id";
}

TEST_F(LeakTest, a_second_machine_with_an_object_id_is_deleted) {
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
