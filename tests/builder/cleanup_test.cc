// Tests the deletion of unneeded builds, uploads and files.

#include <gmock/gmock.h>

#include <chrono>

#include "model/image_paths.h"
#include "tests/builder/builder_fixture.h"

namespace nodepool::builder {
namespace {

using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class CleanUpTest : public BuilderFixture {};

TEST_F(CleanUpTest, an_upload_that_is_deleted_is_made_again) {
  start_with_one();
  ImageUpload upload = uploads().front();
  upload.set_state(UploadState::deleting, clock_.wall_seconds());
  write(upload);
  ASSERT_THAT(uploads(), SizeIs(1));
  EXPECT_EQ(uploads().front().state, UploadState::ready);
  EXPECT_NE(uploads().front().id, upload.id);
  EXPECT_THAT(sky_->images, SizeIs(1));
}

TEST_F(CleanUpTest, a_build_that_is_deleted_goes_with_all_it_has) {
  start_with_one();
  put(model::image_pause_path("deb"));
  ImageBuild build = builds().front();
  build.set_state(BuildState::deleting, clock_.wall_seconds());
  write(build);
  EXPECT_THAT(builds(), IsEmpty());
  EXPECT_FALSE(exists(model::build_path("deb", build.id)));
  EXPECT_THAT(sky_->images, IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(CleanUpTest, the_files_of_a_build_whose_record_cannot_be_read_stay) {
  start_with_one();
  put(model::image_pause_path("deb"));
  ImageBuild build = builds().front();
  const std::vector<std::string> all = files();
  ASSERT_THAT(all, Not(IsEmpty()));
  put(model::build_path("deb", build.id), "no JSON");
  pass(minutes(1));
  EXPECT_EQ(files(), all);
  build.set_state(BuildState::deleting, clock_.wall_seconds());
  write(build);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(CleanUpTest, a_deleted_build_stays_with_an_upload_that_cannot_be_read) {
  start_with_one();
  put(model::image_pause_path("deb"));
  ImageBuild build = builds().front();
  const std::string unreadable = model::upload_path("deb", build.id, "sky2", "0000000007");
  put(unreadable, "no JSON");
  build.set_state(BuildState::deleting, clock_.wall_seconds());
  write(build);
  pass(minutes(1));
  EXPECT_THAT(uploads(), IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(builds(BuildState::deleting), SizeIs(1));
  EXPECT_TRUE(exists(unreadable));
  remove(unreadable);
  EXPECT_FALSE(exists(model::build_path("deb", build.id)));
}

TEST_F(CleanUpTest, a_cloud_that_does_not_delete_keeps_the_record_but_not_the_files) {
  sky_->cannot_delete = true;
  start_with_one();
  put(model::image_pause_path("deb"));
  ImageBuild build = builds().front();
  build.set_state(BuildState::deleting, clock_.wall_seconds());
  write(build);
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(uploads(UploadState::deleting), SizeIs(1));
  EXPECT_THAT(log_, Contains(HasSubstr("from sky1 failed: it is in use")));
  pass(hours(1));
  EXPECT_LE(sky_->deletions, 20);
  sky_->cannot_delete = false;
  pass(minutes(10));
  EXPECT_THAT(builds(), IsEmpty());
}

TEST_F(CleanUpTest, the_record_of_a_failed_upload_names_the_image_that_the_cloud_has_not_deleted) {
  sky_->cannot_delete = true;
  start(yaml(kDeb,
             "  - {name: sky1, driver: sky, diskimages: [{name: deb}],\n"
             "     post-upload-hook: /bin/false}\n"));
  ASSERT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_EQ(uploads().front().external_id.string_value(), "image-1");
  EXPECT_NE(uploads().front().external_name, std::nullopt);
  EXPECT_THAT(sky_->images, SizeIs(1));
  reconfigure(yaml(kDeb, kSky));
  pass(minutes(20));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_THAT(uploads(UploadState::deleting), SizeIs(1));
  EXPECT_THAT(sky_->images, SizeIs(2));
  sky_->cannot_delete = false;
  pass(minutes(20));
  EXPECT_THAT(uploads(), SizeIs(1));
  EXPECT_THAT(sky_->images, SizeIs(1));
}

TEST_F(CleanUpTest, deletions_that_never_end_do_not_stop_the_others) {
  const auto clouds = [](const std::string& images) {
    std::string providers;
    for (int i = 1; i <= 5; ++i) {
      providers +=
          "  - {name: sky" + std::to_string(i) + ", driver: sky, diskimages: " + images + "}\n";
    }
    return yaml(kDeb, providers);
  };
  start(clouds("[{name: deb}]"));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(5));
  sky_->deletion_time = hours(1000);
  reconfigure(clouds("[]"));
  EXPECT_THAT(uploads(UploadState::deleting), SizeIs(5));
  EXPECT_EQ(sky_->deletions, 4) << "as many as run side by side";
  sky_->deletion_time = {};
  pass(minutes(11));
  EXPECT_THAT(uploads(), IsEmpty());
  EXPECT_THAT(sky_->images, IsEmpty());
  EXPECT_THAT(log_, Contains(HasSubstr("failed: timed out: deletion of an image")).Times(4));
}

TEST_F(CleanUpTest, an_image_that_a_provider_no_longer_lists_is_deleted_there) {
  start_with_one();
  reconfigure(yaml(kDeb, "  - {name: sky1, driver: sky, diskimages: []}\n"));
  EXPECT_THAT(uploads(), IsEmpty());
  EXPECT_THAT(sky_->images, IsEmpty());
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
}

TEST_F(CleanUpTest, an_image_that_is_no_longer_configured_is_deleted) {
  start_with_one();
  reconfigure("diskimages: []\nproviders: [{name: sky1, driver: sky, diskimages: []}]\n");
  EXPECT_THAT(builds(), IsEmpty());
  EXPECT_THAT(sky_->images, IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(CleanUpTest, an_image_that_only_another_builder_has_is_deleted_after_some_minutes) {
  start("diskimages: []\nproviders: [{name: sky1, driver: sky, diskimages: []}]\n", "nb2");
  start(yaml(kDeb, "  - {name: sky1, driver: sky, diskimages: [{name: deb, pause: true}]}\n"));
  ASSERT_THAT(builds(BuildState::ready), SizeIs(1));
  const std::string id = builds().front().id;
  pass(minutes(9));
  ASSERT_THAT(builds(BuildState::ready), SizeIs(1));
  EXPECT_EQ(builds().front().id, id);
  pass(minutes(2));
  EXPECT_FALSE(exists(model::build_path("deb", id)));
}

TEST_F(CleanUpTest, uploads_of_a_provider_that_is_gone_are_left_alone) {
  start_with_one();
  reconfigure("diskimages:\n  - {name: deb, formats: [qcow2]}\nproviders: []\n");
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_THAT(sky_->images, SizeIs(1));
}

TEST_F(CleanUpTest, formats_go_when_they_have_been_uploaded) {
  sky_->upload_time = minutes(1);
  start(
      yaml("  - {name: deb, formats: [raw, vhd], keep-formats: [vhd],\n"
           "     delete-after-upload: true}\n",
           kSky));
  EXPECT_THAT(files(), Contains(HasSubstr(".qcow2")));
  EXPECT_THAT(files(), testing::Not(Contains(HasSubstr(".raw")))) << "no provider needs it";
  pass(minutes(1));
  ASSERT_THAT(files(), SizeIs(3));
  EXPECT_THAT(files().front(), HasSubstr(".vhd"));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
}

// A provider that is not started may be started later and need the build.
TEST_F(CleanUpTest, formats_stay_for_a_provider_that_is_not_in_service) {
  const std::string images = "  - {name: deb, delete-after-upload: true}\n";
  const std::string raw =
      "  - {name: sky2, driver: sky, image-format: raw, diskimages: [{name: deb}]}\n";
  sky_->cannot_start = {"sky2"};
  start(yaml(images, kSky + raw));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_THAT(files(), Contains(HasSubstr(".raw")));
  EXPECT_THAT(files(), Not(Contains(HasSubstr(".qcow2"))));
  sky_->cannot_start = {};
  reconfigure(yaml(images, kSky + raw));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(CleanUpTest, all_formats_stay_for_a_provider_whose_format_is_not_known) {
  const std::string images = "  - {name: deb, delete-after-upload: true, formats: [raw]}\n";
  const std::string raw =
      "  - {name: sky2, driver: sky, image-format: raw, diskimages: [{name: deb}]}\n";
  sky_->without_file = {"sky2"};
  start(yaml(images, kSky + raw));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(1)) << "the other provider has it";
  EXPECT_THAT(files(), Contains(HasSubstr(".raw")));
  sky_->without_file = {};
  reconfigure(yaml(images, kSky + raw));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(CleanUpTest, a_provider_that_loses_a_file_of_its_own_takes_images_all_the_same) {
  start(yaml("  - {name: deb, rebuild-age: 3600}\n", kSky));
  sky_->without_file = {"sky1"};
  reconfigure(yaml("  - {name: deb, rebuild-age: 3600}\n", kSky));
  EXPECT_THAT(log_, Contains(HasSubstr("sky1 keeps its previous configuration: no such file")));
  const int before = sky_->uploads;
  pass(hours(2));
  EXPECT_GT(sky_->uploads, before);
}

TEST_F(CleanUpTest, a_provider_that_cannot_start_is_tried_again) {
  sky_->cannot_start = {"sky1"};
  start(yaml("  - {name: deb}\n", kSky));
  pass(minutes(10));
  EXPECT_THAT(uploads(UploadState::ready), IsEmpty());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("sky1 could not be started for images: ")));
  sky_->cannot_start = {};
  pass(minutes(6));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(CleanUpTest, formats_stay_for_a_provider_that_is_being_replaced) {
  const std::string images = "  - {name: deb, delete-after-upload: true}\n";
  const std::string raw =
      "  - {name: sky2, driver: sky, image-format: raw, diskimages: [{name: deb}]";
  sky_->upload_time = minutes(1);
  sky_->broken = {"sky2"};
  start(yaml(images, kSky + raw + "}\n"));
  pass(seconds(59));
  sky_->start_time = minutes(10);
  reconfigure(yaml(images, kSky + raw + ", post-upload-hook: /bin/true}\n"));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_THAT(files(), Contains(HasSubstr(".raw")));
  EXPECT_THAT(files(), Not(Contains(HasSubstr(".qcow2"))));
}

// Providers that start slowly, one after another.
TEST_F(CleanUpTest, uploads_stay_while_their_provider_is_being_replaced) {
  const auto both = [](const std::string& hook) {
    return std::string("  - {name: sky1, driver: sky, diskimages: [{name: deb}]") + hook +
           "}\n  - {name: sky2, driver: sky, diskimages: [{name: deb}]" + hook + "}\n";
  };
  start(yaml(kDeb, both("")));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(2));
  sky_->start_time = minutes(1);
  pass(hours(1) - seconds(90));
  reconfigure(yaml(kDeb, both(", post-upload-hook: /bin/true")));
  EXPECT_THAT(builds(), SizeIs(2)) << "it was due when one of them was there again";
  EXPECT_EQ(sky_->deletions, 0);
}

TEST_F(CleanUpTest, files_without_a_build_go_and_others_stay) {
  start_with_one();
  stop();
  const std::vector<std::string> own = files();
  const std::string id(32, 'a');
  directory_.write("nb1/old-image-" + id + ".qcow2", "x");
  directory_.write("nb1/old-image-" + id + ".qcow2.md5", "x");
  directory_.write("nb1/old-image-" + id + ".d/manifest", "x");
  directory_.write("nb1/killed-" + id + ".qcow2-new", "x");
  directory_.write("nb1/notes-2024.txt", "x");
  start_with_one();
  EXPECT_THAT(files(), SizeIs(own.size() + 5)) << "their records may be on the way";
  pass(minutes(2));
  EXPECT_THAT(files(), SizeIs(own.size() + 1));
  EXPECT_THAT(files(), Contains("notes-2024.txt"));
  EXPECT_THAT(log_, Not(Contains(HasSubstr("Keeping files"))));
}

// As if `zookeeper-servers` named other servers: then no build on this disk has a record.
TEST_F(CleanUpTest, files_without_a_record_stay_until_the_store_has_a_build_of_this_builder) {
  const std::string id(32, 'a');
  const std::string old = "old-image-" + id + ".qcow2";
  directory_.write("nb1/" + old, "x");
  directory_.write("nb1/deb-" + id + ".qcow2", "x");
  start(yaml(kDeb, kSky), "nb2");
  ASSERT_THAT(builds(BuildState::ready), SizeIs(1)) << "of another builder";
  start_with_one();
  pass(minutes(30));
  EXPECT_THAT(files(), ElementsAre("deb-" + id + ".qcow2", old));
  EXPECT_THAT(log_, Contains(HasSubstr("Keeping files without a record, such as those")).Times(1));
  stop("nb2");
  workshop_->build_time = minutes(10);
  pass(minutes(35));
  ASSERT_THAT(builds(BuildState::building), SizeIs(1));
  EXPECT_THAT(files(), Contains(old));
  pass(minutes(10));
  ASSERT_THAT(builds(BuildState::ready), SizeIs(2));
  pass(minutes(2));
  EXPECT_THAT(files(), Not(Contains(HasSubstr(id))));
}

// The records of failed builds are `deleting` for a moment.
TEST_F(CleanUpTest, files_without_a_record_stay_while_all_builds_of_this_builder_fail) {
  const std::string old = "old-image-" + std::string(32, 'a') + ".qcow2";
  directory_.write("nb1/" + old, "x");
  workshop_->exit_codes["deb"] = 1;
  start(yaml(kDeb, kSky));
  pass(minutes(30));
  ASSERT_GT(workshop_->built.size(), 2U);
  ASSERT_THAT(builds(), SizeIs(1)) << "the failures before are gone";
  EXPECT_THAT(files(), ElementsAre(old));
  workshop_->exit_codes.clear();
  put(model::build_request_path("deb"));
  pass(minutes(1));
  ASSERT_THAT(builds(BuildState::ready), SizeIs(1));
  pass(minutes(2));
  EXPECT_THAT(files(), Not(Contains(old)));
}

// Someone deletes the records of all images, one after another.
TEST_F(CleanUpTest, files_stay_when_the_store_is_emptied_until_an_image_is_built_again) {
  const std::string images = "  - {name: deb, formats: [raw]}\n  - {name: other, formats: [raw]}\n";
  start(yaml(images, "  - {name: sky1, driver: sky, diskimages: []}\n"));
  put(model::image_pause_path("deb"));
  put(model::image_pause_path("other"));
  ASSERT_THAT(builds(BuildState::ready), SizeIs(1));
  ASSERT_THAT(builds(BuildState::ready, "other"), SizeIs(1));
  const std::vector<std::string> before = files();
  ASSERT_THAT(before, Not(IsEmpty()));
  remove(model::build_path("other", builds("other").front().id));
  pass(seconds(30));
  remove(model::build_path("deb", builds().front().id));
  pass(minutes(30));
  EXPECT_EQ(files(), before);
  EXPECT_THAT(log_, Contains(HasSubstr("Keeping files without a record")).Times(1));
  remove(model::image_pause_path("deb"));
  ASSERT_THAT(builds(BuildState::ready), SizeIs(1));
  EXPECT_THAT(files(), SizeIs(before.size() + 3)) << "other records may return from a backup";
  pass(minutes(2));
  EXPECT_THAT(files(), SizeIs(3)) << "of the new build";
}

// Old releases of the Python Nodepool had such ids.
TEST_F(CleanUpTest, files_with_a_sequence_number_go_only_with_a_known_record) {
  start_with_one();
  put(model::image_pause_path("deb"));
  ImageBuild build = builds().front();
  build.id = "0000000123";
  build.set_state(BuildState::ready, clock_.wall_seconds() - 3600);
  directory_.write("nb1/deb-0000000123.qcow2", "x");
  directory_.write("nb1/deb-2024010100.qcow2", "x");
  write(build);
  pass(minutes(1));
  EXPECT_THAT(files(), Contains("deb-0000000123.qcow2"));
  remove(model::build_path("deb", build.id));
  pass(minutes(2));
  EXPECT_THAT(files(), Not(Contains("deb-0000000123.qcow2")));
  EXPECT_THAT(files(), Contains("deb-2024010100.qcow2"));
}

}  // namespace
}  // namespace nodepool::builder
