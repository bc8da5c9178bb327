// Commands that ask the clouds: alien-image-list, config-validate --online.

#include <gmock/gmock.h>

#include "coordination/tree.h"
#include "driver/cloud_error.h"
#include "model/image_paths.h"
#include "model/image_upload.h"
#include "model/installation.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using drivers::fake::CloudCall;
using drivers::fake::FakeFailure;
using testing::HasSubstr;
using testing::Not;

class CloudTest : public CliTest {
 protected:
  CloudTest() {
    config_ =
        "store: sqlite:///unused\n"
        "labels: [{name: small}]\n"
        "providers:\n" +
        provider("north", "Fake Precise") + provider("south", "Fake Precise") +
        "  - {name: rack, driver: double}\n";
  }

  static std::string provider(const std::string& name, const std::string& image) {
    return "  - name: " + name +
           "\n    driver: fake\n    cloud: sky\n    cloud-images: [{name: " + image +
           "}]\n    pools: [{name: main, labels: [{name: small, cloud-image: " + image +
           ", min-ram: 8000}]}]\n";
  }

  drivers::fake::FakeCloud& cloud(const std::string& name) { return *clouds_->cloud(name); }

  void add_image(const std::string& provider, const std::string& id, bool is_marked) {
    driver::CloudImage image;
    image.id = id;
    image.name = "trixie-" + id;
    if (is_marked) image.metadata[std::string(driver::kBuildIdKey)] = "b1";
    cloud(provider).add_image(std::move(image));
  }

  void add_upload(const std::string& provider, const std::string& external_id,
                  model::UploadState state) {
    model::ImageUpload upload;
    upload.set_state(state, clock_.wall_seconds());
    upload.external_id = model::json_string(external_id);
    const std::string path = model::upload_path("trixie", "b1", provider, external_id);
    run(coordination::ensure_path(store_, path));
    run(store_.set(path, to_record(upload), coordination::kAnyVersion));
  }

  // Performs a command; what it logs goes to log().
  int nodepool_logging(std::vector<std::string> arguments) {
    testing::internal::CaptureStderr();
    const int status = nodepool(std::move(arguments));
    log_ = testing::internal::GetCapturedStderr();
    return status;
  }
  const std::string& log() const { return log_; }

  void add_machine(const std::string& provider, const std::string& id, const std::string& node,
                   const std::string& installation) {
    drivers::fake::ServerSpec spec;
    spec.name = id;
    spec.flavor = "Fake Flavor";
    spec.metadata = {{std::string(driver::kNodeIdKey), node},
                     {std::string(driver::kProviderNameKey), provider}};
    if (!installation.empty()) spec.metadata.emplace(driver::kInstallationIdKey, installation);
    cloud(provider).create(id, spec, /*is_broken=*/false, clock_.now());
  }

  void refuse_to_list(const std::string& provider) {
    cloud(provider).fail_next(CloudCall::list_images, FakeFailure{}, 100);
  }

 private:
  std::string log_;
};

// --- leak-list, leak-delete

TEST_F(CloudTest, leaks_are_listed_with_their_reasons_and_deleted_on_demand) {
  add_machine("north", "m1", "0000000077", "");
  add_machine("north", "m2", "0000000078", "this");
  add_machine("south", "m3", "0000000079", "there");
  run(coordination::ensure_path(store_, std::string(model::kInstallationPath)));
  run(store_.set(std::string(model::kInstallationPath), R"({"id": "this", "first_node": 0})",
                 coordination::kAnyVersion));
  EXPECT_EQ(nodepool({"leak-list"}), 0) << err();
  EXPECT_EQ(out(),
            "+----------+----------+----+-----------------+-----------------+"
            "---------------------------------+\n"
            "| Provider | Type     | ID | Created For     | Launcher        |"
            " Reason                          |\n"
            "+----------+----------+----+-----------------+-----------------+"
            "---------------------------------+\n"
            "| north    | instance | m1 | node 0000000077 | leaves it alone |"
            " made by an unknown installation |\n"
            "| north    | instance | m2 | node 0000000078 | deletes it      |"
            " node 0000000078 has no record   |\n"
            "| south    | instance | m3 | node 0000000079 | leaves it alone |"
            " made by installation there      |\n"
            "+----------+----------+----+-----------------+-----------------+"
            "---------------------------------+\n");

  EXPECT_EQ(nodepool({"leak-list", "south", "--json"}), 0) << err();
  EXPECT_THAT(out(), HasSubstr("\"id\": \"m3\""));
  EXPECT_THAT(out(), Not(HasSubstr("m1")));

  EXPECT_EQ(nodepool({"leak-delete", "north", "m1", "m9"}), 1);
  EXPECT_THAT(out(), HasSubstr("Deleted instance m1."));
  EXPECT_THAT(err(), HasSubstr("Provider north has no leak with ID m9."));
  EXPECT_FALSE(cloud("north").server("m1", clock_.now()));
  EXPECT_TRUE(cloud("north").server("m2", clock_.now()));
  EXPECT_EQ(nodepool({"leak-list", "nowhere"}), 1);
  EXPECT_THAT(err(), HasSubstr("There is no provider nowhere"));
  EXPECT_EQ(nodepool({"leak-delete", "nowhere", "m1"}), 1);
  EXPECT_THAT(err(), HasSubstr("There is no provider nowhere"));
}

TEST_F(CloudTest, a_machine_that_has_a_record_is_not_deleted_as_a_leak) {
  model::Node node = make_node("small");
  node.provider = "north";
  node.external_id = model::json_string("m1");
  run(coordination::ensure_path(store_, std::string(model::kNodesRoot)));
  const std::string path = run(store_.create(model::node_path(""), to_record(node),
                                             coordination::CreateMode::persistent_sequential));
  add_machine("north", "m1", path.substr(path.rfind('/') + 1), "");
  EXPECT_EQ(nodepool({"leak-delete", "north", "m1"}), 1);
  EXPECT_TRUE(cloud("north").server("m1", clock_.now()));
}

TEST_F(CloudTest, leaks_of_a_cloud_that_does_not_answer_are_not_known) {
  add_machine("south", "m3", "0000000079", "there");
  cloud("north").fail_next(CloudCall::list, FakeFailure{}, 100);
  EXPECT_EQ(nodepool_logging({"leak-list"}), 1);
  EXPECT_THAT(log(), HasSubstr("Provider north cannot be queried: "));
  EXPECT_THAT(out(), HasSubstr("m3"));
}

// --- alien-image-list

TEST_F(CloudTest, images_with_an_owner_tag_and_without_a_record_are_aliens) {
  add_image("north", "0000000001", /*is_marked=*/true);
  add_image("north", "0000000002", /*is_marked=*/true);
  add_image("north", "0000000003", /*is_marked=*/true);
  add_image("north", "0000000004", /*is_marked=*/false);
  add_image("south", "0000000001", /*is_marked=*/true);
  add_upload("north", "0000000001", model::UploadState::ready);
  add_upload("north", "0000000003", model::UploadState::failed);
  EXPECT_EQ(nodepool({"alien-image-list"}), 0) << err();
  EXPECT_EQ(out(),
            "+----------+-------------------+------------+\n"
            "| Provider | Name              | Image ID   |\n"
            "+----------+-------------------+------------+\n"
            "| north    | trixie-0000000002 | 0000000002 |\n"
            "| north    | trixie-0000000003 | 0000000003 |\n"
            "| south    | trixie-0000000001 | 0000000001 |\n"
            "+----------+-------------------+------------+\n");
}

TEST_F(CloudTest, aliens_are_printed_in_other_formats_too) {
  add_image("north", "0000000001", /*is_marked=*/true);
  EXPECT_EQ(nodepool({"alien-image-list", "-o", "json"}), 0) << err();
  EXPECT_EQ(model::Json::parse(out()),
            model::Json::parse(R"([{"provider": "north", "name": "trixie-0000000001",
                                    "image_id": "0000000001"}])"));
}

TEST_F(CloudTest, an_alien_search_of_one_provider_skips_the_others) {
  add_image("north", "0000000001", /*is_marked=*/true);
  add_image("south", "0000000002", /*is_marked=*/true);
  EXPECT_EQ(nodepool({"alien-image-list", "south"}), 0) << err();
  EXPECT_THAT(out(), HasSubstr("| south    | trixie-0000000002 |"));
  EXPECT_THAT(out(), Not(HasSubstr("north")));
  EXPECT_TRUE(driver_log_->lines.empty());
}

TEST_F(CloudTest, a_failing_cloud_hides_no_aliens_of_other_clouds) {
  add_image("south", "0000000002", /*is_marked=*/true);
  refuse_to_list("north");
  EXPECT_EQ(nodepool_logging({"alien-image-list"}), 0);
  EXPECT_THAT(log(), HasSubstr("Exception listing images for north: "));
  EXPECT_THAT(out(), HasSubstr("| south    | trixie-0000000002 |"));
}

// --- config-validate --online

TEST_F(CloudTest, clouds_that_have_everything_pass_the_validation) {
  EXPECT_EQ(nodepool_logging({"config-validate", "--online"}), 0) << log();
  EXPECT_THAT(log(), HasSubstr("Provider north: nothing is missing"));
  EXPECT_THAT(log(), HasSubstr("Provider rack: nothing is missing"));
  EXPECT_THAT(driver_log_->lines, testing::ElementsAre("start rack", "stop"));
}

TEST_F(CloudTest, each_missing_resource_of_a_cloud_is_reported) {
  config_ += provider("east", "Nowhere") + provider("west", "Neverland");
  EXPECT_EQ(nodepool_logging({"config-validate", "--online"}), 1);
  EXPECT_THAT(log(), HasSubstr("Provider east: pool main, label small: images are not available: "
                               "the cloud has no image Nowhere"));
  EXPECT_THAT(log(), HasSubstr("the cloud has no image Neverland"));
  EXPECT_THAT(log(), HasSubstr("Provider north: nothing is missing"));
}

TEST_F(CloudTest, a_cloud_that_cannot_be_asked_fails_the_validation) {
  driver_log_->query_fails = true;
  EXPECT_EQ(nodepool_logging({"config-validate", "--online"}), 1);
  EXPECT_THAT(log(), HasSubstr("Provider rack cannot be queried: the cloud is away"));
  EXPECT_THAT(driver_log_->lines, testing::ElementsAre("start rack", "stop"));
}

TEST_F(CloudTest, clouds_are_not_asked_about_a_file_that_is_wrong_or_without_the_option) {
  driver_log_->query_fails = true;
  EXPECT_EQ(nodepool_logging({"config-validate"}), 0) << log();
  config_ += "nonsense: 1\n";
  EXPECT_EQ(nodepool_logging({"config-validate", "--online"}), 1);
  EXPECT_THAT(log(), Not(HasSubstr("Provider")));
  EXPECT_TRUE(driver_log_->lines.empty());
}

}  // namespace
}  // namespace nodepool::cli
