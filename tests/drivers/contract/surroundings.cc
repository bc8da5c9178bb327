// What a provider knows of its cloud, and what it clears away.

#include "driver/cloud_error.h"
#include "driver/statemachine/instance.h"
#include "tests/drivers/contract/contract.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::contract {
namespace {

using driver::Limits;
using driver::Resources;
using model::Node;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;

// --- quota

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QuotaContract);

TEST_P(DriverContract, a_node_takes_what_its_label_was_said_to_need) {
  start();
  process_->run(provider().available());
  const Resources need = provider().offer()->label(kPool, kLabel).need;
  EXPECT_EQ(need.amount("instances"), 1);
  const Node node = launch_new();
  EXPECT_EQ(Resources::parse(node.resources), need);
}

TEST_P(QuotaContract, what_is_available_does_not_depend_on_the_own_nodes) {
  cloud_->set_capacity(4);
  start();
  const Limits before = process_->run(provider().available());
  EXPECT_THAT(before, testing::Not(IsEmpty()));
  launch_new();
  EXPECT_EQ(process_->run(provider().available()), before);
}

TEST_P(QuotaContract, what_others_use_is_not_available) {
  cloud_->set_capacity(4);
  start();
  const Limits before = process_->run(provider().available());
  cloud_->add_machine({});
  cloud_->add_machine(owner_tags("other", "0000000000"));
  process_->pass(std::chrono::minutes(1));
  const Limits after = process_->run(provider().available());
  const Resources need = provider().offer()->label(kPool, kLabel).need;
  EXPECT_EQ(after, driver::remaining(before, need + need));
}

TEST_P(QuotaContract, the_last_known_limits_apply_while_the_cloud_returns_none) {
  cloud_->set_capacity(4);
  start();
  const Limits before = process_->run(provider().available());
  cloud_->provoke(Trouble::limits_error, 1);
  EXPECT_EQ(process_->run(provider().available()), before);
}

// --- leaks

TEST_P(DriverContract, a_resource_without_a_node_is_deleted_at_the_second_check) {
  cloud_->add_machine(owner_tags(kProvider, "0000009999"));
  const Node node = launch_new();
  process_->run(provider().launching()->remove_leaks());
  EXPECT_THAT(machine_ids(), SizeIs(2));
  process_->run(provider().launching()->remove_leaks());
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(machine_ids(), ElementsAre(cloud_->machine_of(node)));
}

// What the driver does not make may have the id of something that it does.
TEST_P(DriverContract, what_is_of_an_unknown_type_is_not_deleted) {
  const Node node = launch_new();
  const auto job =
      process_->begin(provider().launching()->remove_leak({.type = "lamp",
                                                           .id = cloud_->machine_of(node),
                                                           .metadata = {},
                                                           .is_ours = true,
                                                           .reason = {}}));
  finish(job);
  EXPECT_THAT(job->failure(), testing::HasSubstr("lamp"));
  process_->pass(std::chrono::minutes(1));
  expect_one_machine(node.id);
}

TEST_P(DriverContract, what_belongs_to_others_stays) {
  cloud_->add_machine({});
  cloud_->add_machine(owner_tags("other", "0000009999"));
  start();
  for (int look = 0; look < 3; ++look) process_->run(provider().launching()->remove_leaks());
  EXPECT_THAT(machine_ids(), SizeIs(2));
}

TEST_P(DriverContract, what_another_installation_may_have_made_is_shown_and_stays) {
  driver::Metadata unmarked = owner_tags(kProvider, "0000009999");
  unmarked.erase(std::string(driver::kInstallationIdKey));
  cloud_->add_machine(unmarked);
  const std::string id = add_node();
  driver::Metadata of_another = owner_tags(kProvider, id);
  of_another[std::string(driver::kInstallationIdKey)] = "another-installation";
  cloud_->add_machine(of_another);
  EXPECT_EQ(finish(start().launch(id))->failure(), "");
  for (int look = 0; look < 3; ++look) process_->run(provider().launching()->remove_leaks());
  EXPECT_THAT(machine_ids(), SizeIs(3));
  EXPECT_THAT(process_->run(provider().launching()->leaks()), SizeIs(2));
  reclaim(id);
  EXPECT_THAT(machine_ids(), SizeIs(2));
}

TEST_P(DriverContract, a_launch_may_take_longer_than_leak_checks) {
  cloud_->set_boot_time(std::chrono::minutes(10));
  const std::string id = add_node();
  const auto job = start().launch(id);
  for (int look = 0; look < 5; ++look) {
    process_->pass(std::chrono::minutes(1));
    process_->run(provider().launching()->remove_leaks());
  }
  EXPECT_EQ(finish(job)->failure(), "");
  expect_one_machine(id);
}

// --- images

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ImageContract);

constexpr const char* kImageName = "trixie-1700000000";
constexpr std::uint64_t kImageSize = 100'352;

driver::Metadata image_marks() {
  return {{std::string(driver::kBuildIdKey), "b1"},
          {std::string(driver::kUploadIdKey), "0000000000"},
          {std::string(driver::kProviderNameKey), kProvider}};
}

// It ends as a VHD does: other files are refused by Azure.
std::string image_content() {
  std::string content(kImageSize - 512, 'x');
  content += "conectix";
  content.resize(kImageSize);
  return content;
}

// Uploads a small file.
async::Task<std::string> upload(driver::Provider& provider) {
  const test_support::TemporaryDirectory directory;
  driver::ProviderImage image;
  image.name = kDiskimage;
  driver::ImageFile file;
  file.path = directory.write("image.raw", image_content());
  file.format = "raw";
  file.size = kImageSize;
  std::uint64_t sent = 0;
  const driver::ImageSupport::Progress progress = [&sent](std::uint64_t bytes) { sent = bytes; };
  std::string id =
      co_await provider.images()->upload(image, kImageName, file, image_marks(), progress);
  EXPECT_EQ(sent, kImageSize);
  co_return id;
}

// The ids of the images that carry the suite's marks.
async::Task<std::vector<std::string>> our_images(CloudFixture& cloud, driver::Provider& provider) {
  const std::vector<driver::CloudImage> all = co_await provider.images()->list();
  std::vector<std::string> ids;
  for (const driver::CloudImage& image : all) {
    const auto provider_name = image.metadata.find(driver::kProviderNameKey);
    if (provider_name != image.metadata.end() && provider_name->second == kProvider) {
      EXPECT_THAT(image.metadata, IsSupersetOf(image_marks()));
      EXPECT_EQ(image.name, cloud.image_name(kImageName, image_marks()));
      ids.push_back(image.id);
    }
  }
  co_return ids;
}

TEST_P(ImageContract, an_image_is_uploaded_used_and_deleted) {
  start();
  ASSERT_NE(provider().images(), nullptr);
  EXPECT_NE(provider().offer()->label(kPool, kBuiltLabel).problem, "") << "there is none yet";
  const std::string id = process_->run(upload(provider()));
  EXPECT_THAT(process_->run(our_images(*cloud_, provider())), ElementsAre(id));

  model::ImageUpload record;
  record.image = kDiskimage;
  record.build_id = "b1";
  record.provider = kProvider;
  record.state = model::UploadState::ready;
  record.external_id = model::json_string(id);
  installation_.add_upload(record);
  process_->settle();
  EXPECT_EQ(provider().offer()->label(kPool, kBuiltLabel).problem, "");
  const Node node = launch_new(kBuiltLabel);
  expect_one_machine(node.id);
  reclaim(node.id);

  process_->run(provider().images()->remove(kImageName, id));
  EXPECT_THAT(process_->run(our_images(*cloud_, provider())), IsEmpty());
  process_->run(provider().images()->remove(kImageName, id));
}

TEST_P(ImageContract, an_upload_that_fails_leaves_nothing) {
  start();
  ASSERT_NE(provider().images(), nullptr);
  cloud_->provoke(Trouble::image_error, 1);
  EXPECT_THROW(process_->run(upload(provider())), driver::CloudError);
  EXPECT_THAT(process_->run(our_images(*cloud_, provider())), IsEmpty());
  process_->run(upload(provider()));
  EXPECT_THAT(process_->run(our_images(*cloud_, provider())), SizeIs(1));
}

}  // namespace
}  // namespace nodepool::drivers::contract
