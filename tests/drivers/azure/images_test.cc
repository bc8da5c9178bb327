// Uploads of images to Azure.

#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "tests/drivers/azure/azure_fixture.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::contract {
namespace {

using azure::StandIn;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

}  // namespace

// An upload in this fixture's cloud of a file with an empty range between two others.
class AzureUpload : public AzureContract {
 protected:
  static constexpr std::size_t kRange = std::size_t{4} << 20;

  async::Task<> upload() {
    driver::ProviderImage image;
    image.name = kDiskimage;
    driver::ImageFile file;
    file.path = path_;
    file.size = content_.size();
    const driver::Metadata tags = {{"nodepool_upload_id", "1"}};
    co_await provider().images()->upload(image, "trixie-1", file, tags, {});
  }

  test_support::TemporaryDirectory directory_;
  std::string content_ = std::string(kRange, 'a') + std::string(kRange, '\0') +
                         std::string(kRange, 'b') + StandIn::vhd_footer();
  std::string path_ = directory_.write("image.vhd", content_);
};

INSTANTIATE_TEST_SUITE_P(azure, AzureUpload, testing::Values(backend<AzureFixture>()));

TEST_P(AzureUpload, it_sends_ranges_that_are_not_empty) {
  start();
  process_->run(upload());
  EXPECT_EQ(azure().count("PUT blob"), 3U);
  const StandIn::Resource* image = azure().find("images", "trixie-1");
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(image->body["tags"]["nodepool_upload_id"], "1");
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
}

// The last range fails for good, and the builder dies before it deletes the disk.
TEST_P(AzureUpload, it_is_resumed_where_it_was) {
  StandIn::Resource& disk =
      azure().add("disks", "trixie-1",
                  {{"tags", {{"nodepool_upload_id", "1"}}},
                   {"properties", {{"creationData", {{"uploadSizeBytes", content_.size()}}}}}});
  disk.disk_state = "ActiveUpload";
  disk.blob = content_;
  disk.written = {{0, kRange - 1}, {3 * kRange, 3 * kRange + 511}};
  start();
  process_->run(upload());
  EXPECT_EQ(azure().count("PUT disks/NAME"), 0U);
  EXPECT_EQ(azure().count("PUT blob"), 1U);
  EXPECT_NE(azure().find("images", "trixie-1"), nullptr);
}

TEST_P(AzureUpload, a_disk_without_the_footer_of_a_vhd_is_deleted) {
  directory_.write("image.vhd", std::string(content_.size(), 'c'));
  start();
  const auto job = process_->begin(upload());
  finish(job);
  EXPECT_THAT(job->failure(), HasSubstr("InvalidVhd"));
  EXPECT_EQ(azure().find("images", "trixie-1"), nullptr);
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
}

// As the search for leaks does it, after a builder has died.
TEST_P(AzureUpload, the_disk_of_an_interrupted_upload_is_deleted) {
  StandIn::Resource& disk =
      azure().add("disks", "trixie-1", {{"tags", {{"nodepool_upload_id", "1"}}}});
  disk.disk_state = "ActiveUpload";
  disk.is_accessible = true;
  disk.blob = std::string(content_.size(), '\0');
  start();
  process_->run(provider().images()->remove("trixie-1", "trixie-1"));
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
}

// A deletion would be refused.
TEST_P(AzureUpload, a_disk_is_deleted_after_an_outage_while_its_access_ends) {
  const StandIn::Json tags = {{"nodepool_upload_id", "1"}};
  azure().add("images", "trixie-1", {{"tags", tags}});
  StandIn::Resource& disk = azure().add("disks", "trixie-1", {{"tags", tags}});
  disk.disk_state = "ActiveUpload";
  disk.is_accessible = true;
  disk.blob = content_;
  azure().fail("POST disks/NAME/endGetAccess", std::vector<StandIn::Failure>(kAttempts));
  start();
  process_->run(upload());
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
  EXPECT_EQ(azure().count("DELETE disks/NAME"), 1U);
}

TEST_P(AzureUpload, a_signature_is_in_no_error) {
  azure().fail("PUT blob", std::vector<StandIn::Failure>(
                               3, {.status = 400, .code = "x", .message = "?sig=SIGNATURE"}));
  start();
  const auto job = process_->begin(upload());
  finish(job);
  EXPECT_THAT(job->failure(), HasSubstr("azure: write to disk"));
  EXPECT_THAT(job->failure(), testing::Not(HasSubstr("SIGNATURE")));
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
}

// Uploads of a small file, all with the same name.
class AzureImageContract : public AzureContract {
 protected:
  static constexpr const char* kName = "trixie-1700000000";

  driver::Metadata tags(const std::string& upload) {
    return {{std::string(driver::kUploadIdKey), upload},
            {std::string(driver::kProviderNameKey), kProvider}};
  }

  std::string upload(const std::string& id) {
    driver::ProviderImage image;
    image.name = kDiskimage;
    driver::ImageFile file;
    file.path = directory_.write("image.vhd", std::string(512, 'x') + StandIn::vhd_footer());
    file.format = "vhd";
    file.size = 1024;
    return process_->run(provider().images()->upload(image, kName, file, tags(id), {}));
  }

  test_support::TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(azure, AzureImageContract, testing::Values(backend<AzureFixture>()));

TEST_P(AzureImageContract, an_upload_survives_an_outage_at_each_step) {
  start();
  const std::vector<StandIn::Failure> outage(2 * kAttempts, {.status = 503});
  for (const char* call :
       {"GET images/NAME", "GET disks/NAME", "PUT disks/NAME", "POST disks/NAME/beginGetAccess",
        "PUT blob", "POST disks/NAME/endGetAccess", "PUT images/NAME", "DELETE disks/NAME"}) {
    azure().fail(call, outage);
  }
  EXPECT_EQ(upload("1"), kName);
  EXPECT_THAT(azure().all("images"), SizeIs(1));
  process_->pass(std::chrono::seconds(10));
  EXPECT_THAT(azure().all("disks"), IsEmpty());
  EXPECT_EQ(azure().count("PUT blob"), 2 * kAttempts + 1);
}

TEST_P(AzureImageContract, an_upload_survives_an_outage_of_the_login_service) {
  start();
  azure().expire_tokens();
  azure().fail("POST token", std::vector<StandIn::Failure>(2 * kAttempts, {.status = 503}));
  EXPECT_EQ(upload("1"), kName);
  EXPECT_THAT(azure().all("images"), SizeIs(1));
}

TEST_P(AzureImageContract, an_upload_leaves_the_image_of_another_one_with_its_name) {
  start();
  upload("1");
  EXPECT_THROW(upload("2"), driver::CloudError);
  ASSERT_NE(azure().find("images", kName), nullptr);
  EXPECT_FALSE(azure().find("images", kName)->deleted);
}

TEST_P(AzureImageContract, an_upload_leaves_the_disk_of_another_one_with_its_name) {
  start();
  azure().add("disks", kName, {{"tags", tags("1")}}).disk_state = "ActiveUpload";
  EXPECT_THROW(upload("2"), driver::CloudError);
  ASSERT_NE(azure().find("disks", kName), nullptr);
  EXPECT_FALSE(azure().find("disks", kName)->deleted);
  EXPECT_EQ(azure().count("PUT blob"), 0U);
}

}  // namespace nodepool::drivers::contract
