// Uploads to a stand-in of IBM Cloud: what it refuses or does not answer, and builders that die in
// between.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "async/live_tasks.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/ibmvpc/ibmvpc_driver.h"
#include "drivers/ibmvpc/image_names.h"
#include "tests/driver/harness/installation.h"
#include "tests/driver/harness/launcher_process.h"
#include "tests/drivers/contract/contract.h"
#include "tests/drivers/ibmvpc/stand_in/stand_in.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::ibmvpc {
namespace {

using driver::CloudError;
using driver::Metadata;
using driver::harness::Job;
using driver::harness::LauncherProcess;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::SizeIs;

constexpr const char* kConfiguration = R"(
diskimages: [{name: trixie, username: ci}]
providers:
  - name: sky
    driver: ibmvpc
    vpc: net
    region: north
    zone: north-1
    subnet: inner
    rate: 0
    STORAGE
    diskimages: [{name: trixie, operating-system: debian-12-amd64}]
    pools: []
)";

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr std::size_t kSize = 20 * kMebibyte;  // three parts
constexpr const char* kBuild = "0123456789abcdef0123456789abcdef";

Metadata owner_tags(const std::string& installation = driver::harness::kInstallationId,
                    const std::string& upload = "0000000007") {
  return {{std::string(driver::kBuildIdKey), kBuild},
          {std::string(driver::kUploadIdKey), upload},
          {std::string(driver::kProviderNameKey), "sky"},
          {std::string(driver::kInstallationIdKey), installation}};
}

std::string usual_key() {
  return object_key(image_name(owner_tags()), "qcow2");
}

class IbmImagesTest : public testing::Test {
 protected:
  IbmImagesTest() : cloud_({loop_.executor(), installation_.clock, installation_.random}) {
    file_.path = directory_.write("image.qcow2", std::string(kSize, 'x'));
    file_.format = "qcow2";
    file_.size = kSize;
  }

  // A builder; the one that ran before, if any, dies.
  void start(bool has_storage = true) {
    process_.reset();
    std::string text = kConfiguration;
    const std::string storage = "object-storage: {instance-name: i, endpoint: \"" + cloud_.url() +
                                "/\", bucket-name: ci-images}";
    text.replace(text.find("STORAGE"), 7, has_storage ? storage : "");
    const auto make = [this, text](driver::ProviderContext context) {
      const IbmVpcDriver driver({{"VPC_APIKEY", "key/of test"},
                                 {"VPC_AUTH_URL", cloud_.url()},
                                 {"VPC_URL", cloud_.url() + "/v1"},
                                 {"RESOURCE_MANAGER_URL", cloud_.url()}});
      executor_ = context.runtime.executor;
      return driver.provider(contract::read_provider(driver, text), std::move(context));
    };
    process_ = std::make_unique<LauncherProcess>(installation_, make, [this] { return wire(); });
  }

  // Silent when every call that waits for an answer is one that the cloud holds back.
  bool wire() {
    const bool cloud_ran = loop_.poll();
    const auto waits = [](const async::LiveTask& task) {
      return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
        return wait.what.starts_with("http:");
      });
    };
    const auto tasks = async::live_tasks(executor_);
    const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits));
    return cloud_ran || calls > cloud_.held_back();
  }

  driver::ImageSupport& images() { return *process_->provider().images(); }

  async::Task<std::string> uploading() {
    driver::ProviderImage image;
    image.name = "trixie";
    return images().upload(image, "npimage-0000000007", file_, owner_tags(),
                           [this](std::uint64_t bytes) { sent_ = bytes; });
  }
  std::string upload() { return process_->run(uploading()); }

  std::string failure_of_upload() {
    try {
      upload();
    } catch (const CloudError& error) {
      return error.what();
    }
    return "";
  }

  // Begins an upload, and dies once this call has arrived so often.
  void die_at(const std::string& call, std::size_t times = 1) {
    start();
    cloud_.latency = seconds(10);
    std::string id;
    const auto job = process_->begin(keep(uploading(), id));
    while (cloud_.count(call) < times) ASSERT_TRUE(process_->step()) << call;
    process_.reset();
    ASSERT_EQ(id, "");
    cloud_.latency = {};
    installation_.clock.advance_by(minutes(1));
  }
  static async::Task<> keep(async::Task<std::string> uploading, std::string& id) {
    id = co_await std::move(uploading);
  }

  std::vector<driver::CloudImage> listed() { return process_->run(images().list()); }

  void expect_only(const std::string& id) {
    ASSERT_THAT(cloud_.own_images, ElementsAre(Key(id)));
    EXPECT_EQ(cloud_.own_images.at(id).name, image_name(owner_tags()));
    EXPECT_EQ(cloud_.own_images.at(id).group, "npimages_sky");
    expect_empty_bucket();
    EXPECT_EQ(sent_, kSize);
  }
  void expect_empty_bucket() {
    EXPECT_THAT(cloud_.bucket.objects, IsEmpty());
    EXPECT_THAT(cloud_.bucket.uploads, IsEmpty());
  }
  void expect_nothing() {
    cloud_.settle();
    EXPECT_THAT(cloud_.own_images, IsEmpty());
    expect_empty_bucket();
  }

  void fail(const std::string& call, StandIn::Failure failure, std::size_t times = 1) {
    cloud_.fail(call, std::vector<StandIn::Failure>(times, failure));
  }

  // The credentials do not permit these calls.
  void forbid(const std::vector<std::string>& calls) {
    for (const std::string& call : calls) fail(call, {.status = 403, .code = "AccessDenied"}, 1000);
  }

  test_support::TemporaryDirectory directory_;
  driver::harness::Installation installation_;
  async::EventLoop loop_;
  StandIn cloud_;
  async::Executor executor_;
  driver::ImageFile file_;
  std::uint64_t sent_ = 0;
  std::unique_ptr<LauncherProcess> process_;
};

TEST_F(IbmImagesTest, an_image_is_imported_from_the_bucket) {
  start();
  cloud_.import_time = minutes(5);
  const std::string id = upload();
  expect_only(id);
  const StandIn::Json& body = cloud_.own_images.at(id).body;
  EXPECT_EQ(body.at("file").at("href"), "cos://north-2/ci-images/" + usual_key());
  EXPECT_EQ(body.at("operating_system").at("name"), "debian-12-amd64");
  EXPECT_EQ(body.at("resource_group").at("id"), "g-npimages_sky");
  EXPECT_EQ(cloud_.count("storage UploadPart"), 3U);
  EXPECT_EQ(cloud_.count("POST resource_groups"), 1U);
  process_->run(images().remove("", id));
  expect_nothing();
  process_->run(images().remove("", id));
}

TEST_F(IbmImagesTest, an_import_that_fails_leaves_nothing_and_says_why) {
  start();
  cloud_.breaks_imports = true;
  EXPECT_THAT(failure_of_upload(), HasSubstr("is failed: bad data"));
  expect_nothing();
}

TEST_F(IbmImagesTest, a_refused_import_leaves_nothing) {
  start();
  fail("POST images", {400, "over_quota"});
  EXPECT_THAT(failure_of_upload(), HasSubstr("over_quota"));
  expect_nothing();
}

TEST_F(IbmImagesTest, without_a_bucket_uploads_fail_with_what_to_do) {
  start(false);
  EXPECT_THAT(failure_of_upload(), HasSubstr("`object-storage`"));
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(IbmImagesTest, an_error_of_the_bucket_is_shown) {
  start();
  fail("storage ListObjectsV2", {404, "NoSuchBucket"});
  EXPECT_THAT(failure_of_upload(), AllOf(HasSubstr("NoSuchBucket"), HasSubstr("ci-images")));
}

TEST_F(IbmImagesTest, what_was_done_without_an_answer_is_found) {
  start();
  for (const char* call :
       {"storage CreateMultipartUpload", "storage UploadPart", "storage CompleteMultipartUpload",
        "storage DeleteObject", "POST resource_groups", "POST images"}) {
    fail(call, {.status = -1});
  }
  expect_only(upload());
  EXPECT_EQ(cloud_.count("storage CreateMultipartUpload"), 1U);
  EXPECT_EQ(cloud_.count("POST images"), 1U);
}

TEST_F(IbmImagesTest, what_was_not_done_is_done_again) {
  start();
  for (const char* call : {"storage CreateMultipartUpload", "storage UploadPart",
                           "storage CompleteMultipartUpload", "POST images", "GET images/ID"}) {
    fail(call, {.status = 0});
  }
  expect_only(upload());
  EXPECT_EQ(cloud_.count("POST images"), 2U);
}

TEST_F(IbmImagesTest, an_outage_of_some_minutes_is_waited_for) {
  start();
  for (const char* call : {"GET images", "storage ListObjectsV2", "storage CreateMultipartUpload",
                           "storage UploadPart", "storage GetBucketLocation", "GET images/ID"}) {
    fail(call, {.status = 503}, 12);
  }
  expect_only(upload());
}

TEST_F(IbmImagesTest, an_error_with_the_status_of_success_is_retried) {
  start();
  fail("storage CompleteMultipartUpload", {.status = 200, .code = "InternalError"});
  expect_only(upload());
  EXPECT_EQ(cloud_.count("storage CompleteMultipartUpload"), 2U);
}

TEST_F(IbmImagesTest, tokens_that_expire_are_renewed) {
  start();
  upload();
  cloud_.expire_tokens();
  EXPECT_THAT(listed(), SizeIs(1));
  cloud_.expire_tokens();
  fail("storage ListMultipartUploads", {.status = 401});
  EXPECT_THAT(listed(), SizeIs(1));
}

// --- builders that die

TEST_F(IbmImagesTest, parts_that_are_there_are_not_sent_again) {
  die_at("storage UploadPart");
  ASSERT_THAT(cloud_.bucket.uploads, SizeIs(1));
  start();
  expect_only(upload());
  EXPECT_EQ(cloud_.count("storage CreateMultipartUpload"), 1U);
  EXPECT_EQ(cloud_.count("storage UploadPart"), 3U);
}

TEST_F(IbmImagesTest, parts_of_another_content_are_sent_again) {
  cloud_.bucket.uploads["ux"] = {
      .key = usual_key(), .parts = {{1, {.size = 8 * kMebibyte, .md5 = "other", .times = 1}}}};
  start();
  expect_only(upload());
  EXPECT_EQ(cloud_.count("storage UploadPart"), 3U);
}

TEST_F(IbmImagesTest, an_upload_goes_on_wherever_its_builder_has_died) {
  for (const char* call :
       {"GET images", "storage ListObjectsV2", "storage ListMultipartUploads",
        "storage CreateMultipartUpload", "storage UploadPart", "storage CompleteMultipartUpload",
        "storage GetBucketLocation", "POST resource_groups", "POST images", "GET images/ID",
        "storage DeleteObject"}) {
    const std::size_t imports = cloud_.count("POST images");
    cloud_.groups.erase("npimages_sky");
    sent_ = 0;
    die_at(call, cloud_.count(call) + 1);
    start();
    const std::string id = upload();
    expect_only(id);
    EXPECT_EQ(cloud_.count("POST images"), imports + 1) << call;
    process_->run(images().remove("", id));
    expect_nothing();
  }
}

TEST_F(IbmImagesTest, an_import_that_is_not_listed_yet_is_found) {
  die_at("storage DeleteObject");
  start();
  cloud_.stale_image_lists = 1;
  expect_only(upload());
  EXPECT_EQ(cloud_.count("POST images"), 2U);
}

TEST_F(IbmImagesTest, whatever_was_begun_is_listed_and_can_be_deleted) {
  for (const char* call : {"storage UploadPart", "storage GetBucketLocation", "GET images/ID"}) {
    die_at(call, cloud_.count(call) + 1);
    start();
    const std::vector<driver::CloudImage> found = listed();
    ASSERT_THAT(found, testing::Not(IsEmpty())) << call;
    EXPECT_THAT(found, Each(Field(&driver::CloudImage::metadata, IsSupersetOf(owner_tags()))));
    for (const driver::CloudImage& image : found) {
      process_->run(images().remove(image.name, image.id));
    }
    EXPECT_THAT(listed(), IsEmpty());
    expect_nothing();
  }
}

// --- permissions that are optional

TEST_F(IbmImagesTest, a_failed_import_from_a_bucket_that_cannot_be_listed_leaves_nothing) {
  start();
  forbid({"storage ListObjectsV2", "storage ListMultipartUploads"});
  cloud_.breaks_imports = true;
  EXPECT_THAT(failure_of_upload(), HasSubstr("is failed: bad data"));
  expect_nothing();
}

TEST_F(IbmImagesTest, a_failed_upload_to_a_bucket_that_cannot_be_listed_leaves_nothing) {
  start();
  forbid({"storage ListObjectsV2", "storage ListMultipartUploads"});
  fail("storage UploadPart", {400, "InvalidRequest"});
  EXPECT_THAT(failure_of_upload(), HasSubstr("InvalidRequest"));
  expect_nothing();
}

TEST_F(IbmImagesTest, an_image_that_cannot_be_deleted_keeps_no_object) {
  start();
  cloud_.breaks_imports = true;
  fail("DELETE images/ID", {403, "not_authorized"});
  EXPECT_THAT(failure_of_upload(), HasSubstr("is failed: bad data"));
  EXPECT_THAT(cloud_.own_images, SizeIs(1));
  expect_empty_bucket();
}

TEST_F(IbmImagesTest, objects_are_listed_without_the_permission_to_list_uploads) {
  cloud_.bucket.objects[usual_key()] = 1;
  start();
  forbid({"storage ListMultipartUploads"});
  for (int look = 0; look < 2; ++look) {
    EXPECT_THAT(listed(), ElementsAre(Field(&driver::CloudImage::name, usual_key())));
  }
  EXPECT_EQ(std::ranges::count_if(installation_.log,
                                  [](const std::string& line) {
                                    return line.contains("Without the permission s3:ListBucketM");
                                  }),
            1);
}

// --- what belongs to others

TEST_F(IbmImagesTest, only_leaked_images_and_objects_of_this_installation_are_deleted) {
  const auto add = [this](const std::string& name, const std::string& group) {
    cloud_.own_images["id-" + name] = {.name = name, .group = group, .made = {}};
    cloud_.bucket.objects[name + ".qcow2"] = 1;
  };
  const std::string own = image_name(owner_tags());
  add(own, "npimages_sky");
  std::set<std::string> others = {"npimage0000000007", "golden",
                                  image_name(owner_tags("another installation"))};
  for (const std::string& name : others) add(name, "npimages_sky");
  add("npimage-1-2-0123456789", "npimages_rain");
  others.insert("npimage-1-2-0123456789");
  cloud_.bucket.uploads["ux"] = {.key = usual_key(), .parts = {}};
  cloud_.bucket.uploads["uy"] = {.key = "npimage-backup", .parts = {}};
  start();
  for (int look = 0; look < 3; ++look) {
    process_->run(process_->provider().launching()->remove_leaks());
    process_->pass(minutes(1));
  }
  cloud_.settle();
  std::set<std::string> names;
  for (const auto& [id, image] : cloud_.own_images) names.insert(image.name);
  EXPECT_EQ(names, others);
  EXPECT_THAT(cloud_.bucket.objects, SizeIs(others.size()));
  EXPECT_FALSE(cloud_.bucket.objects.contains(usual_key()));
  EXPECT_THAT(cloud_.bucket.uploads, ElementsAre(Key("uy")));
  const std::vector<driver::Leak> leaks = process_->run(process_->provider().launching()->leaks());
  ASSERT_THAT(leaks, SizeIs(1));
  EXPECT_THAT(leaks[0].reason, HasSubstr("made by installation"));
  EXPECT_FALSE(leaks[0].is_ours);
}

TEST_F(IbmImagesTest, an_image_with_a_record_is_no_leak) {
  start();
  const std::string id = upload();
  model::ImageUpload record;
  record.image = "trixie";
  record.build_id = kBuild;
  record.provider = "sky";
  record.id = "0000000007";
  record.state = model::UploadState::ready;
  record.external_id = model::json_string(id);
  installation_.add_upload(record);
  process_->settle();
  for (int look = 0; look < 3; ++look) {
    process_->run(process_->provider().launching()->remove_leaks());
  }
  EXPECT_THAT(cloud_.own_images, ElementsAre(Key(id)));
}

TEST(IbmImageNames, are_accepted_by_ibm_and_unique_for_provider_and_installation) {
  const std::string name = image_name(owner_tags());
  EXPECT_THAT(name, testing::MatchesRegex("[a-z][-a-z0-9]*[a-z0-9]"));
  EXPECT_LE(name.size(), 63U);
  Metadata of_another_provider = owner_tags();
  of_another_provider[std::string(driver::kProviderNameKey)] = "rain";
  EXPECT_NE(image_name(of_another_provider), name);
  EXPECT_NE(image_name(owner_tags("another")), name);
}

}  // namespace
}  // namespace nodepool::drivers::ibmvpc
