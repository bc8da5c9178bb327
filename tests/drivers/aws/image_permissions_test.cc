// Uploads to a stand-in of EC2, EBS and S3 with credentials that lack permissions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "driver/images.h"
#include "drivers/aws/images/upload_identity.h"
#include "tests/drivers/aws/images_fixture.h"

namespace nodepool::drivers::aws {
namespace {

using driver::Metadata;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;
using testing::SizeIs;

const std::vector<std::string> kOptionalBucketCalls = {"ListObjectsV2", "ListMultipartUploads",
                                                       "ListParts", "AbortMultipartUpload",
                                                       "GetObjectTagging"};

class AwsImagePermissionsTest : public AwsImagesTest {
 protected:
  // The credentials do not permit these calls.
  void forbid(const std::vector<std::string>& actions) {
    for (const std::string& action : actions) fail(action, {403, "AccessDenied"}, 1000);
  }
  void permit(const std::vector<std::string>& actions) {
    for (const std::string& action : actions) fail(action, {}, 0);
  }

  void expect_upload_without(const std::string& method, const std::vector<std::string>& actions) {
    start(method);
    forbid(actions);
    const std::string id = upload();
    EXPECT_THAT(cloud_.own_images, ElementsAre(Key(id))) << method;
    EXPECT_THAT(cloud_.snapshots, SizeIs(1)) << method;
    expect_empty_bucket();
    EXPECT_EQ(sent_, kSize) << method;
    remove(id);
    expect_nothing();
    permit(actions);
  }
};

TEST_F(AwsImagePermissionsTest, uploads_need_only_the_permissions_of_the_python_nodepool) {
  std::vector<std::string> forbidden = kOptionalBucketCalls;
  forbidden.insert(forbidden.end(), {"CreateTags", "CancelImportTask"});
  std::vector<std::string> of_snapshots = forbidden;
  of_snapshots.emplace_back("DescribeImportImageTasks");
  expect_upload_without("snapshot", of_snapshots);
  std::vector<std::string> of_images = forbidden;
  of_images.insert(of_images.end(), {"DescribeImportSnapshotTasks", "DescribeSnapshots"});
  expect_upload_without("image", of_images);
  of_images.emplace_back("DescribeImportImageTasks");
  expect_upload_without("ebs-direct", of_images);
  for (const char* permission :
       {"s3:ListBucket,", "s3:ListBucketMultipartUploads,", "ec2:CreateTags, imported",
        "ec2:CreateTags, interrupted", "ec2:DescribeSnapshots,"}) {
    EXPECT_THAT(installation_.log,
                Contains(HasSubstr(std::string("Without the permission ") + permission)));
  }
}

TEST_F(AwsImagePermissionsTest, a_completed_object_that_cannot_be_listed_is_imported) {
  start("snapshot");
  forbid(kOptionalBucketCalls);
  fail("CompleteMultipartUpload", {-1});
  expect_only(upload());
  EXPECT_EQ(cloud_.count("CreateMultipartUpload"), 1);
}

TEST_F(AwsImagePermissionsTest,
       a_failed_upload_deletes_its_object_in_a_bucket_that_cannot_be_listed) {
  start("snapshot");
  forbid(kOptionalBucketCalls);
  services().breaks_imports = true;
  EXPECT_THAT(failure_of_upload(), HasSubstr("has failed: as the test wants it"));
  EXPECT_EQ(cloud_.count("ImportSnapshot"), 1);
  expect_nothing();
}

TEST_F(AwsImagePermissionsTest, a_failed_upload_deletes_its_parts_that_cannot_be_listed) {
  start("snapshot");
  forbid({"ListObjectsV2", "ListMultipartUploads", "ListParts"});
  fail("UploadPart", {400, "InvalidRequest"});
  EXPECT_THAT(failure_of_upload(), HasSubstr("InvalidRequest"));
  expect_nothing();
}

TEST_F(AwsImagePermissionsTest, an_upload_whose_parts_cannot_be_deleted_reports_its_failure) {
  start("snapshot");
  forbid({"AbortMultipartUpload"});
  fail("UploadPart", {400, "InvalidRequest"});
  EXPECT_THAT(failure_of_upload(), HasSubstr("InvalidRequest"));
  EXPECT_THAT(installation_.log,
              Contains(HasSubstr("Without the permission s3:AbortMultipartUpload")));
}

// Two uploads for the same key: the second one is a duplicate that cannot be deleted.
TEST_F(AwsImagePermissionsTest, a_refused_deletion_does_not_keep_the_rest_of_a_failed_upload) {
  const std::string key = object_key(kName, "raw", owner_tags());
  for (const char* id : {"upload-x", "upload-y"}) {
    services().uploads[id] = {.key = key, .tags = {}, .parts = {}};
  }
  start("snapshot");
  forbid({"AbortMultipartUpload"});
  fail("RegisterImage", {400, "InvalidParameterValue"});
  EXPECT_THAT(failure_of_upload(), HasSubstr("InvalidParameterValue"));
  EXPECT_THAT(cloud_.snapshots, IsEmpty());
  EXPECT_THAT(services().objects, IsEmpty());
  EXPECT_THAT(services().uploads, ElementsAre(Key("upload-y")));
}

TEST_F(AwsImagePermissionsTest, an_upload_whose_parts_cannot_be_listed_sends_them_again) {
  start("snapshot");
  cloud_.latency = seconds(10);
  std::string id;
  const auto job = process_->begin(keep(uploading(), id));
  while (cloud_.count("UploadPart") < 3) ASSERT_TRUE(process_->step());
  process_.reset();
  start("snapshot");
  forbid({"ListParts"});
  expect_only(upload());
  EXPECT_EQ(cloud_.count("CreateMultipartUpload"), 1);
  EXPECT_EQ(cloud_.count("UploadPart"), 6);
}

TEST_F(AwsImagePermissionsTest, a_snapshot_that_cannot_be_listed_is_not_begun_twice) {
  start("ebs-direct");
  cloud_.latency = seconds(10);
  die_after(minutes(1));
  ASSERT_THAT(cloud_.snapshots, SizeIs(1));
  start("ebs-direct");
  forbid({"DescribeSnapshots"});
  expect_only(upload());
}

TEST_F(AwsImagePermissionsTest, a_failed_upload_deletes_its_snapshot_that_cannot_be_listed) {
  start("ebs-direct");
  forbid({"DescribeSnapshots"});
  fail("RegisterImage", {400, "InvalidParameterValue"});
  EXPECT_THAT(failure_of_upload(), HasSubstr("InvalidParameterValue"));
  EXPECT_EQ(cloud_.count("RegisterImage"), 1);
  expect_nothing();
}

TEST_F(AwsImagePermissionsTest, a_completed_snapshot_that_cannot_be_listed_is_registered) {
  const auto is_complete = [this] {
    return !cloud_.snapshots.empty() && cloud_.snapshots.begin()->second.state == "completed";
  };
  start("ebs-direct");
  cloud_.latency = seconds(10);
  std::string id;
  const auto job = process_->begin(keep(uploading(), id));
  while (!is_complete()) ASSERT_TRUE(process_->step());
  process_.reset();
  ASSERT_EQ(cloud_.count("RegisterImage"), 0);
  start("ebs-direct");
  forbid({"DescribeSnapshots"});
  expect_only(upload());
  EXPECT_THAT(cloud_.snapshots.begin()->second.blocks, Each(Pair(testing::_, 1)));
}

TEST_F(AwsImagePermissionsTest,
       results_of_imports_that_cannot_be_tagged_are_listed_with_their_tags) {
  const Metadata ours = owner_tags();
  services().objects["key"] = {.size = 1, .tags = {}};
  services().tasks["import-ami-1"] = {.is_image = true,
                                      .key = "key",
                                      .format = "raw",
                                      .image = {},
                                      .snapshot = {},
                                      .tags = {ours.begin(), ours.end()},
                                      .made = installation_.clock.now()};
  start("snapshot");
  forbid({"CreateTags", "DescribeImportSnapshotTasks"});
  listed();  // looks at the task, which ends
  listed();
  std::vector<std::string> found;
  for (const driver::CloudImage& image : listed()) {
    if (image.metadata == ours) found.push_back(image.id);
  }
  EXPECT_THAT(found, Contains(services().tasks.at("import-ami-1").image));
  EXPECT_EQ(std::ranges::count_if(installation_.log,
                                  [](const std::string& line) {
                                    return line.contains("Without the permission ec2:C");
                                  }),
            1);
}

}  // namespace
}  // namespace nodepool::drivers::aws
