// Uploads to a stand-in of EC2, EBS and S3: what AWS refuses or does not answer, and builders that
// die in between.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "driver/cloud_error.h"
#include "drivers/aws/images/upload_identity.h"
#include "tests/drivers/aws/images_fixture.h"

namespace nodepool::drivers::aws {
namespace {

using driver::CloudError;
using driver::Metadata;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::Le;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

TEST_F(AwsImagesTest, an_object_becomes_a_snapshot_and_that_an_ami) {
  start("snapshot");
  services().import_time = minutes(5);
  const std::string id = upload();
  expect_only(id);
  EXPECT_EQ(cloud_.own_images.at(id).name, kName);
  const auto call = cloud_.calls("ImportSnapshot").at(0);
  EXPECT_THAT(call,
              IsSupersetOf({Pair("Description", kName), Pair("DiskContainer.Format", "raw")}));
  EXPECT_THAT(call.at("DiskContainer.UserBucket.S3Key"),
              AllOf(StartsWith(std::string(kName) + "."), testing::EndsWith(".raw")));
  EXPECT_EQ(cloud_.calls("RegisterImage").at(0).at("BlockDeviceMapping.1.Ebs.VolumeSize"), "1");
  remove(id);
  expect_nothing();
}

TEST_F(AwsImagesTest, an_object_becomes_an_ami) {
  start("image");
  services().import_time = minutes(5);
  expect_only(upload());
  EXPECT_THAT(
      cloud_.calls("ImportImage").at(0),
      IsSupersetOf({Pair("Architecture", "x86_64"), Pair("DiskContainer.1.Format", "raw")}));
  EXPECT_EQ(cloud_.count("RegisterImage"), 0);
}

TEST_F(AwsImagesTest, an_import_that_fails_leaves_nothing_and_says_why) {
  for (const char* method : {"snapshot", "image"}) {
    start(method);
    services().breaks_imports = true;
    EXPECT_THAT(failure_of_upload(), HasSubstr("as the test wants it")) << method;
    expect_nothing();
    services().tasks.clear();
  }
}

TEST_F(AwsImagesTest, a_busy_import_service_is_waited_for_as_long_as_is_configured) {
  start("snapshot", "image-import-timeout: 3600");
  fail("ImportSnapshot", {400, "ResourceCountLimitExceeded"}, 30);
  expect_only(upload());
  EXPECT_EQ(cloud_.count("ImportSnapshot"), 31);
  cloud_.own_images.clear();
  cloud_.snapshots.clear();
  services().tasks.clear();
  start("snapshot");
  fail("ImportSnapshot", {400, "ResourceCountLimitExceeded"});
  EXPECT_THAT(failure_of_upload(), HasSubstr("ResourceCountLimitExceeded"));
  expect_nothing();
}

TEST_F(AwsImagesTest, operations_with_a_lost_response_are_found_again) {
  start("snapshot");
  for (const char* action : {"CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload",
                             "ImportSnapshot", "RegisterImage", "DeleteObject"}) {
    fail(action, {-1});
  }
  expect_only(upload());
  EXPECT_THAT(services().tasks, SizeIs(1));
  EXPECT_EQ(cloud_.count("CreateMultipartUpload"), 1);
  EXPECT_EQ(cloud_.count("RegisterImage"), 1);
}

TEST_F(AwsImagesTest, operations_that_aws_has_not_done_are_retried) {
  start("snapshot");
  for (const char* action : {"CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload",
                             "ImportSnapshot", "RegisterImage"}) {
    fail(action, {0});
  }
  expect_only(upload());
}

TEST_F(AwsImagesTest, operations_with_an_unreadable_response_are_found_again) {
  start("snapshot");
  for (const char* action : {"CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload",
                             "ImportSnapshot", "CreateTags", "RegisterImage"}) {
    fail(action, {StandIn::kUnreadable});
  }
  expect_only(upload());
  EXPECT_THAT(services().tasks, SizeIs(1));
  EXPECT_EQ(cloud_.count("CreateMultipartUpload"), 1);
  EXPECT_EQ(cloud_.count("RegisterImage"), 1);
  start("ebs-direct");
  cloud_.own_images.clear();
  cloud_.snapshots.clear();
  services().tasks.clear();
  fail("ebs", {StandIn::kUnreadable});
  fail("CreateTags", {StandIn::kUnreadable});
  expect_only(upload());
}

TEST_F(AwsImagesTest, an_outage_of_some_minutes_is_waited_for) {
  start("snapshot");
  for (const char* action : {"DescribeImages", "ListObjectsV2", "CreateMultipartUpload",
                             "UploadPart", "DescribeImportSnapshotTasks", "CreateTags"}) {
    fail(action, {503, "ServiceUnavailable"}, 12);
  }
  expect_only(upload());
  start("ebs-direct");
  cloud_.own_images.clear();
  cloud_.snapshots.clear();
  fail("ebs", {503, "ServiceUnavailable"}, 12);
  fail("CreateTags", {503, "ServiceUnavailable"}, 12);
  expect_only(upload());
}

TEST_F(AwsImagesTest, an_outage_after_the_import_is_waited_for) {
  start("snapshot");
  services().import_time = minutes(5);
  std::string id;
  const auto job = process_->begin(keep(uploading(), id));
  process_->pass(minutes(2));
  fail("DescribeSnapshots", {503, "ServiceUnavailable"}, 12);
  fail("RegisterImage", {503, "ServiceUnavailable"}, 12);
  process_->pass(minutes(15));
  ASSERT_NE(id, "") << job->failure();
  expect_only(id);
}

TEST_F(AwsImagesTest, a_bucket_that_is_not_there_is_named) {
  start("snapshot");
  fail("ListObjectsV2", {404, "NoSuchBucket"});
  EXPECT_THAT(failure_of_upload(), AllOf(HasSubstr("NoSuchBucket"), HasSubstr("images")));
}

TEST_F(AwsImagesTest, parts_that_are_there_are_not_sent_again) {
  start("snapshot");
  cloud_.latency = seconds(10);
  std::string id;
  const auto job = process_->begin(keep(uploading(), id));
  while (cloud_.count("UploadPart") == 0) ASSERT_TRUE(process_->step());
  process_.reset();
  ASSERT_THAT(services().uploads, SizeIs(1));
  start("snapshot");
  expect_only(upload());
  EXPECT_EQ(cloud_.count("CreateMultipartUpload"), 1);
  EXPECT_EQ(cloud_.count("UploadPart"), 3);
}

TEST_F(AwsImagesTest, parts_of_another_content_are_sent_again) {
  const std::string key = object_key(kName, "raw", owner_tags());
  services().uploads["upload-x"] = {
      .key = key,
      .tags = {},
      .parts = {{1, {.size = 8 * kMebibyte, .sha256 = "other", .times = 1}}}};
  start("snapshot");
  expect_only(upload());
  EXPECT_EQ(cloud_.count("UploadPart"), 3);
}

TEST_F(AwsImagesTest, a_restarted_builder_waits_for_the_import) {
  for (const char* method : {"snapshot", "image"}) {
    start(method);
    services().import_time = minutes(30);
    die_after(minutes(10));
    start(method);
    const std::string id = upload();
    expect_only(id);
    EXPECT_THAT(services().tasks, SizeIs(1));
    remove(id);
    services().tasks.clear();
    installation_.clock.advance_by(minutes(1));
  }
  EXPECT_EQ(cloud_.count("CompleteMultipartUpload"), 2);
}

TEST_F(AwsImagesTest, an_import_that_ended_during_a_restart_is_used) {
  start("image");
  services().import_time = minutes(30);
  die_after(minutes(10));
  installation_.clock.advance_by(minutes(30));
  start("image");
  expect_only(upload());
  EXPECT_EQ(cloud_.count("ImportImage"), 1);
}

TEST_F(AwsImagesTest, blocks_that_are_there_are_not_written_again) {
  start("ebs-direct");
  cloud_.latency = seconds(14);  // ten blocks at a time: three rounds until there is a mark
  std::string id;
  const auto job = process_->begin(keep(uploading(), id));
  while (cloud_.count("CreateTags") == 0) ASSERT_TRUE(process_->step());
  process_->pass(seconds(1));
  process_.reset();
  ASSERT_THAT(cloud_.snapshots, SizeIs(1));
  start("ebs-direct");
  expect_only(upload());
  const auto& blocks = cloud_.snapshots.begin()->second.blocks;
  EXPECT_THAT(blocks, SizeIs(kSize / 524288));
  EXPECT_EQ(blocks.at(0), 1);
  EXPECT_EQ(blocks.at(19), 1);
  EXPECT_THAT(blocks, Each(Pair(testing::_, Le(2))));
}

TEST_F(AwsImagesTest, a_snapshot_that_has_failed_meanwhile_fails_the_upload) {
  start("ebs-direct");
  cloud_.latency = seconds(10);
  die_after(minutes(1));
  ASSERT_THAT(cloud_.snapshots, SizeIs(1));
  cloud_.snapshots.begin()->second.state = "error";
  start("ebs-direct");
  EXPECT_THAT(failure_of_upload(), HasSubstr("has failed"));
  expect_nothing();
}

// --- what is left

std::string mark_of(const driver::CloudImage& image) {
  const auto found = image.metadata.find(driver::kUploadIdKey);
  return found == image.metadata.end() ? "" : found->second;
}

TEST_F(AwsImagesTest, what_a_builder_that_is_gone_has_imported_gets_the_tags_of_its_own_task) {
  const auto add_task = [this](const std::string& upload, bool is_image) {
    const Metadata tags = owner_tags(upload);
    const std::string key = "key-of-" + upload;
    services().objects[key] = {.size = 1, .tags = {}};
    services().tasks["import-" + upload] = {.is_image = is_image,
                                            .key = key,
                                            .format = "raw",
                                            .image = {},
                                            .snapshot = {},
                                            .tags = {tags.begin(), tags.end()},
                                            .made = installation_.clock.now()};
  };
  add_task("0000000001", false);
  add_task("0000000002", true);
  add_task("0000000003", false);
  services().import_time = minutes(1);
  start("snapshot");
  std::vector<std::string> under_way;
  for (const driver::CloudImage& image : listed()) under_way.push_back(image.id);
  EXPECT_THAT(under_way,
              UnorderedElementsAre("import-0000000001", "import-0000000002", "import-0000000003"));
  process_->pass(minutes(2));
  listed();  // looks at the tasks, which end
  std::multiset<std::string> found;
  for (const driver::CloudImage& image : listed()) found.insert(mark_of(image));
  EXPECT_THAT(found, ElementsAre("0000000001", "0000000002", "0000000003"));
  for (const auto& [id, task] : services().tasks) {
    EXPECT_EQ(cloud_.snapshots.at(task.snapshot).tags, task.tags) << id;
  }
  const auto all = listed();
  for (const driver::CloudImage& image : all) {
    remove(image.id);
  }
  EXPECT_THAT(cloud_.own_images, IsEmpty());
  EXPECT_THAT(cloud_.snapshots, IsEmpty());
}

TEST_F(AwsImagesTest, whatever_was_begun_is_listed_and_can_be_deleted) {
  const auto die_when = [this](const std::string& action) {
    start("snapshot");
    cloud_.latency = seconds(10);
    services().import_time = minutes(30);
    const int before = cloud_.count(action);
    std::string id;
    const auto job = process_->begin(keep(uploading(), id));
    while (cloud_.count(action) == before) {
      if (!process_->step()) throw std::runtime_error("it has ended");
    }
    process_.reset();
    cloud_.latency = {};
  };
  for (const char* action : {"UploadPart", "ImportSnapshot"}) {
    die_when(action);
    start("snapshot");
    const auto left = listed();
    EXPECT_THAT(left, testing::Not(IsEmpty())) << action;
    for (const driver::CloudImage& image : left) {
      EXPECT_EQ(mark_of(image), "0000000007");
      EXPECT_EQ(image.metadata.at(std::string(driver::kInstallationIdKey)),
                driver::harness::kInstallationId);
      remove(image.id);
    }
    EXPECT_THAT(listed(), IsEmpty()) << action;
    expect_nothing();
  }
}

TEST_F(AwsImagesTest, a_bucket_that_cannot_be_listed_hides_no_ami) {
  start("snapshot");
  const std::string id = upload();
  fail("ListMultipartUploads", {403, "AccessDenied"});
  EXPECT_THAT(listed(), ElementsAre(Field(&driver::CloudImage::id, id)));
}

TEST_F(AwsImagesTest, an_image_on_a_later_page_is_not_taken_for_gone) {
  start("ebs-direct");
  const std::string id = upload();
  cloud_.page = 1;
  cloud_.own_images["ami-00000000"] = {
      .name = "other", .snapshot = {}, .description = {}, .tags = {}, .blocks = {}};
  EXPECT_THAT(listed(), SizeIs(2));
  remove(id);
  EXPECT_THAT(cloud_.own_images, ElementsAre(Key("ami-00000000")));
  EXPECT_THAT(cloud_.snapshots, IsEmpty());
}

TEST_F(AwsImagesTest, a_snapshot_that_seems_in_use_is_deleted_with_its_ami) {
  start("ebs-direct");
  const std::string id = upload();
  fail("DeleteSnapshot", {400, "InvalidSnapshot.InUse"}, 8);
  const int tagged = cloud_.count("CreateTags");
  remove(id);
  expect_nothing();
  EXPECT_EQ(cloud_.count("CreateTags"), tagged) << "it has the tags of its AMI";
}

TEST_F(AwsImagesTest, a_snapshot_of_the_python_nodepool_without_its_ami_is_a_leak_of_its_own) {
  start("snapshot");
  Metadata tags = owner_tags();
  tags.erase(std::string(driver::kInstallationIdKey));
  cloud_.own_images["ami-7"].snapshot = "snap-7";
  cloud_.own_images["ami-7"].tags = {tags.begin(), tags.end()};
  cloud_.snapshots["snap-7"].tags = {tags.begin(), tags.end()};
  fail("DeleteSnapshot", {400, "OperationNotPermitted"});
  EXPECT_THROW(remove("ami-7"), CloudError);
  const std::vector<driver::CloudImage> left = listed();
  ASSERT_THAT(left, ElementsAre(Field(&driver::CloudImage::id, "snap-7")));
  EXPECT_EQ(left.front().metadata, owner_tags());
}

TEST_F(AwsImagesTest, an_ami_is_deleted_although_its_snapshot_cannot_be_tagged) {
  start("snapshot");
  cloud_.own_images["ami-7"].snapshot = "snap-7";
  cloud_.own_images["ami-7"].tags = {{std::string(driver::kUploadIdKey), "0000000007"}};
  cloud_.snapshots["snap-7"] = {};
  fail("CreateTags", {403, "UnauthorizedOperation"});
  remove("ami-7");
  expect_nothing();
  EXPECT_THAT(installation_.log, Contains(HasSubstr("Error tagging the snapshots of ami-7")));
}

TEST_F(AwsImagesTest, an_object_with_unreadable_tags_hides_no_other) {
  start("snapshot");
  const Metadata ours = owner_tags("0000000001");
  services().objects["a"] = {.size = 1, .tags = {}, .hides_tags = true};
  services().objects["b"] = {.size = 1, .tags = {ours.begin(), ours.end()}};
  services().objects["c"] = {.size = 1, .tags = {ours.begin(), ours.end()}, .hides_tags = true};
  for (int look = 0; look < 2; ++look) {
    EXPECT_THAT(listed(), ElementsAre(Field(&driver::CloudImage::id, "s3://images/b")));
  }
  EXPECT_EQ(cloud_.count("GetObjectTagging"), 3) << "once for each";
  EXPECT_THAT(installation_.log, Contains(HasSubstr("s3://images/a")));
}

TEST_F(AwsImagesTest, an_own_object_is_listed_when_its_tags_are_readable) {
  start("snapshot");
  const std::string key = object_key(kName, "raw", owner_tags());
  const Metadata ours = owner_tags();
  services().objects[key] = {.size = 1, .tags = {ours.begin(), ours.end()}, .hides_tags = true};
  EXPECT_THAT(listed(), IsEmpty());
  services().objects[key].hides_tags = false;
  EXPECT_THAT(listed(), ElementsAre(Field(&driver::CloudImage::name, key)));
}

// What an operator has copied from what our import has made, or has put tags on.
TEST_F(AwsImagesTest, what_others_have_made_of_an_import_is_not_adopted) {
  start("image");
  const Metadata ours = owner_tags("0000000002");
  services().objects["key"] = {.size = 1, .tags = {}};
  services().tasks["import-ami-1"] = {.is_image = true,
                                      .key = "key",
                                      .format = "raw",
                                      .image = {},
                                      .snapshot = {},
                                      .tags = {ours.begin(), ours.end()},
                                      .made = installation_.clock.now()};
  const std::string description = "Created by AWS-VMImport service for import-ami-1";
  const auto add_snapshot = [&](const std::string& id, const std::string& text, bool is_tagged) {
    cloud_.snapshots[id] = {
        .name = {}, .snapshot = {}, .description = text, .tags = {}, .blocks = {}};
    if (is_tagged) cloud_.snapshots[id].tags = {{"owner", "operator"}};
  };
  add_snapshot("snap-copy", "[Copied snap-1 from north-1] " + description, false);
  add_snapshot("snap-same", description, false);
  add_snapshot("snap-kept", description, true);
  cloud_.own_images["ami-copy"] = {
      .name = "import-ami-1", .snapshot = "snap-copy", .description = {}, .tags = {}, .blocks = {}};
  listed();  // looks at the task, which ends
  const std::string made = services().tasks.begin()->second.snapshot;
  cloud_.own_images[services().tasks.begin()->second.image].tags = {{"owner", "operator"}};
  listed();
  std::vector<std::string> adopted;
  for (const driver::CloudImage& image : listed()) {
    if (!image.metadata.empty() && !image.metadata.contains("owner")) adopted.push_back(image.id);
  }
  EXPECT_THAT(adopted, IsEmpty());
  for (const char* id : {"snap-copy", "snap-same", "snap-kept"}) {
    EXPECT_FALSE(cloud_.snapshots.at(id).tags.contains("nodepool_upload_id")) << id;
  }
  EXPECT_EQ(cloud_.snapshots.at(made).tags, services().tasks.begin()->second.tags);
}

TEST(ObjectKey, names_its_owner) {
  const model::Installation installation{driver::harness::kInstallationId};
  const std::string key = object_key("a.b-1", "raw", owner_tags());
  const auto found = tags_in_key(key, "sky", installation);
  ASSERT_TRUE(found);
  Metadata expected = owner_tags();
  expected.erase("team");
  EXPECT_EQ(*found, expected);
  EXPECT_FALSE(tags_in_key(key, "sea", installation));
  EXPECT_FALSE(tags_in_key(key, "sky", model::Installation{"another"}));
  EXPECT_FALSE(tags_in_key("trixie-1.raw", "sky", installation));
  EXPECT_FALSE(tags_in_key("", "sky", installation));
}

TEST(UploadToken, is_the_same_for_the_same_call_of_the_same_upload) {
  EXPECT_EQ(upload_token(owner_tags(), "a"), upload_token(owner_tags(), "a"));
  EXPECT_NE(upload_token(owner_tags(), "a"), upload_token(owner_tags(), "b"));
  EXPECT_NE(upload_token(owner_tags(), "a"), upload_token(owner_tags("0000000008"), "a"));
}

}  // namespace
}  // namespace nodepool::drivers::aws
