#include "tests/drivers/aws/images_fixture.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "async/live_tasks.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/aws/aws_driver.h"
#include "tests/drivers/contract/contract.h"

namespace nodepool::drivers::aws {

namespace {

constexpr const char* kImagesConfiguration = R"(
diskimages: [{name: trixie, username: ci}]
providers:
  - name: sky
    driver: aws
    region-name: north-1
    object-storage: {bucket-name: images}
    KEYS
    diskimages: [{name: trixie, import-method: METHOD}]
    pools: []
)";

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  return text.replace(text.find(word), word.size(), by);
}

}  // namespace

driver::Metadata owner_tags(const std::string& upload) {
  return {{std::string(driver::kBuildIdKey), "b1"},
          {std::string(driver::kUploadIdKey), upload},
          {std::string(driver::kProviderNameKey), "sky"},
          {std::string(driver::kInstallationIdKey), driver::harness::kInstallationId},
          {"team", "infra"}};
}

AwsImagesTest::AwsImagesTest()
    : cloud_({loop_.executor(), installation_.clock, installation_.random}) {
  file_.path = directory_.write("image.raw", std::string(kSize, 'x'));
  file_.format = "raw";
  file_.size = kSize;
}

void AwsImagesTest::start(const std::string& method, const std::string& keys) {
  process_.reset();
  const std::string text = replaced(replaced(kImagesConfiguration, "METHOD", method), "KEYS", keys);
  const auto make = [this, text](driver::ProviderContext context) {
    const AwsDriver driver({{"AWS_ACCESS_KEY_ID", "AKIDTEST"},
                            {"AWS_SECRET_ACCESS_KEY", "secret"},
                            {"AWS_ENDPOINT_URL", cloud_.url()}});
    executor_ = context.runtime.executor;
    return driver.provider(contract::read_provider(driver, text), std::move(context));
  };
  process_ = std::make_unique<driver::harness::LauncherProcess>(installation_, make,
                                                                [this] { return wire(); });
}

bool AwsImagesTest::wire() {
  const bool cloud_ran = loop_.poll();
  const auto tasks = async::live_tasks(executor_);
  const auto calls =
      static_cast<std::size_t>(std::ranges::count_if(tasks, [](const async::LiveTask& task) {
        return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
          return wait.what.starts_with("http:");
        });
      }));
  return cloud_ran || calls > cloud_.held_back();
}

async::Task<std::string> AwsImagesTest::uploading(const std::string& upload) {
  driver::ProviderImage image;
  image.name = "trixie";
  return process_->provider().images()->upload(image, kName, file_, owner_tags(upload),
                                               [this](std::uint64_t bytes) { sent_ = bytes; });
}

std::string AwsImagesTest::failure_of_upload() {
  try {
    upload();
  } catch (const driver::CloudError& error) {
    return error.what();
  }
  return "";
}

void AwsImagesTest::die_after(async::Duration time) {
  std::string id;
  const auto job = process_->begin(keep(uploading(), id));
  process_->pass(time);
  ASSERT_EQ(id, "") << "it was faster";
  process_.reset();
}

async::Task<> AwsImagesTest::keep(async::Task<std::string> uploading, std::string& id) {
  id = co_await std::move(uploading);
}

void AwsImagesTest::expect_only(const std::string& id) {
  EXPECT_THAT(cloud_.own_images, testing::ElementsAre(testing::Key(id)));
  const OwnThing& image = cloud_.own_images.at(id);
  EXPECT_THAT(image.tags, testing::IsSupersetOf(owner_tags()));
  EXPECT_THAT(cloud_.snapshots, testing::ElementsAre(testing::Key(image.snapshot)));
  EXPECT_THAT(cloud_.snapshots.at(image.snapshot).tags, testing::IsSupersetOf(owner_tags()));
  expect_empty_bucket();
  EXPECT_EQ(sent_, kSize);
}

void AwsImagesTest::expect_empty_bucket() {
  EXPECT_THAT(services().objects, testing::IsEmpty());
  EXPECT_THAT(services().uploads, testing::IsEmpty());
}

void AwsImagesTest::expect_nothing() {
  EXPECT_THAT(cloud_.own_images, testing::IsEmpty());
  EXPECT_THAT(cloud_.snapshots, testing::IsEmpty());
  expect_empty_bucket();
}

}  // namespace nodepool::drivers::aws
