// Commands that ask the clouds: alien-image-list, config-validate --online.

#include <gmock/gmock.h>

#include "coordination/tree.h"
#include "driver/cloud_error.h"
#include "model/image_paths.h"
#include "model/image_upload.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using drivers::fake::CloudCall;
using drivers::fake::Failure;
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

  void refuse_to_list(const std::string& provider) {
    cloud(provider).fail_next(CloudCall::list_images, Failure{}, 100);
  }

 private:
  std::string log_;
};

// --- alien-image-list

TEST_F(CloudTest, images_are_aliens_if_they_say_they_are_nodepools_and_no_record_knows_them) {
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

TEST_F(CloudTest, aliens_of_one_provider_are_looked_for_in_no_other) {
  add_image("north", "0000000001", /*is_marked=*/true);
  add_image("south", "0000000002", /*is_marked=*/true);
  EXPECT_EQ(nodepool({"alien-image-list", "south"}), 0) << err();
  EXPECT_THAT(out(), HasSubstr("| south    | trixie-0000000002 |"));
  EXPECT_THAT(out(), Not(HasSubstr("north")));
  EXPECT_TRUE(driver_log_->lines.empty());
}

TEST_F(CloudTest, a_cloud_that_does_not_answer_hides_no_aliens_of_others) {
  add_image("south", "0000000002", /*is_marked=*/true);
  refuse_to_list("north");
  EXPECT_EQ(nodepool_logging({"alien-image-list"}), 0);
  EXPECT_THAT(log(), HasSubstr("Exception listing images for north: "));
  EXPECT_THAT(out(), HasSubstr("| south    | trixie-0000000002 |"));
}

// --- config-validate --online

TEST_F(CloudTest, clouds_that_have_everything_are_well) {
  EXPECT_EQ(nodepool_logging({"config-validate", "--online"}), 0) << log();
  EXPECT_THAT(log(), HasSubstr("Provider north: nothing is missing"));
  EXPECT_THAT(log(), HasSubstr("Provider rack: nothing is missing"));
  EXPECT_THAT(driver_log_->lines, testing::ElementsAre("start rack", "stop"));
}

TEST_F(CloudTest, what_a_cloud_lacks_is_said_of_each) {
  config_ += provider("east", "Nowhere") + provider("west", "Neverland");
  EXPECT_EQ(nodepool_logging({"config-validate", "--online"}), 1);
  EXPECT_THAT(log(), HasSubstr("Provider east: pool main, label small: images are not available: "
                               "the cloud has no image Nowhere"));
  EXPECT_THAT(log(), HasSubstr("the cloud has no image Neverland"));
  EXPECT_THAT(log(), HasSubstr("Provider north: nothing is missing"));
}

TEST_F(CloudTest, a_cloud_that_cannot_be_asked_fails_the_validation) {
  driver_log_->cannot_ask = true;
  EXPECT_EQ(nodepool_logging({"config-validate", "--online"}), 1);
  EXPECT_THAT(log(), HasSubstr("Provider rack cannot be asked: the cloud is away"));
  EXPECT_THAT(driver_log_->lines, testing::ElementsAre("start rack", "stop"));
}

TEST_F(CloudTest, clouds_are_not_asked_about_a_file_that_is_wrong_or_without_the_option) {
  driver_log_->cannot_ask = true;
  EXPECT_EQ(nodepool_logging({"config-validate"}), 0) << log();
  config_ += "nonsense: 1\n";
  EXPECT_EQ(nodepool_logging({"config-validate", "--online"}), 1);
  EXPECT_THAT(log(), Not(HasSubstr("Provider")));
  EXPECT_TRUE(driver_log_->lines.empty());
}

}  // namespace
}  // namespace nodepool::cli
