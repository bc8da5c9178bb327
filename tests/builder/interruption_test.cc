// Tests several builders, builders that stop or die, and lost sessions.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "model/image_paths.h"
#include "tests/builder/builder_fixture.h"

namespace nodepool::builder {
namespace {

using model::BuildState;
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

class InterruptionTest : public BuilderFixture {};

TEST_F(InterruptionTest, of_two_builders_one_builds_and_uploads) {
  workshop_->build_time = minutes(10);
  start(yaml(kDeb, kSky), "nb1");
  start(yaml(kDeb, kSky), "nb2");
  pass(minutes(20));
  EXPECT_THAT(workshop_->built, SizeIs(1));
  EXPECT_EQ(sky_->uploads, 1);
  EXPECT_THAT(files("nb2"), IsEmpty());
  stop("nb1");
  pass(hours(1));
  EXPECT_THAT(workshop_->built, SizeIs(2)) << "the other one goes on";
  EXPECT_THAT(files("nb2"), SizeIs(3));
  EXPECT_THAT(files("nb1"), SizeIs(3)) << "only their own builder deletes them";
}

TEST_F(InterruptionTest, work_of_a_dead_builder_is_cleaned_up_and_repeated) {
  workshop_->build_time = minutes(10);
  start(yaml(kDeb, kSky), "nb1");
  pass(minutes(5));
  const std::string left = builds().front().id;
  kill("nb1");
  EXPECT_THAT(builds(BuildState::building), SizeIs(1));
  start(yaml(kDeb, kSky), "nb2");
  pass(seconds(10));
  ASSERT_THAT(builds(), SizeIs(1)) << "the one that was left is gone, another one is made";
  EXPECT_NE(builds().front().id, left);
  pass(minutes(10));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
  EXPECT_THAT(files("nb1"), SizeIs(1)) << "half an image";
  start(yaml(kDeb, kSky), "nb1");
  stop("nb2");
  pass(hours(1) + minutes(20));
  ASSERT_THAT(builds(BuildState::ready), SizeIs(2)) << "nb1 has made one";
  EXPECT_THAT(files("nb1"), Not(Contains(HasSubstr(left))));
}

TEST_F(InterruptionTest, the_builder_with_the_files_repeats_an_upload_of_a_dead_one) {
  sky_->upload_time = minutes(10);
  start(yaml(kDeb, kSky), "nb1");
  pass(minutes(5));
  const std::string left = uploads(UploadState::uploading).front().id;
  kill("nb1");
  start(yaml(kDeb, kSky), "nb2");
  EXPECT_THAT(uploads(), IsEmpty());
  pass(minutes(10));
  EXPECT_THAT(uploads(), IsEmpty()) << "the files are not here";
  start(yaml(kDeb, kSky), "nb1");
  pass(minutes(10));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_NE(uploads().front().id, left);
}

TEST_F(InterruptionTest, the_builder_with_the_files_resumes_an_upload_if_the_cloud_can) {
  sky_->resumes = true;
  sky_->upload_time = minutes(10);
  start(yaml(kDeb, kSky), "nb1");
  pass(minutes(5));
  const std::string left = uploads(UploadState::uploading).front().id;
  kill("nb1");
  start(yaml(kDeb, kSky), "nb2");
  pass(minutes(10));
  ASSERT_THAT(uploads(UploadState::uploading), SizeIs(1))
      << "the builder with the files may restart";
  start(yaml(kDeb, kSky), "nb1");
  pass(minutes(10));
  ASSERT_THAT(uploads(), SizeIs(1));
  EXPECT_EQ(uploads().front().state, UploadState::ready);
  EXPECT_EQ(uploads().front().id, left);
  EXPECT_EQ(sky_->uploads, 1) << "the cloud is asked for the same one";
}

TEST_F(InterruptionTest, an_upload_of_a_dead_builder_is_discarded_when_its_files_are_gone) {
  sky_->resumes = true;
  sky_->upload_time = minutes(10);
  start(yaml(kDeb, kSky), "nb1");
  pass(minutes(5));
  kill("nb1");
  for (const std::string& file : files("nb1")) {
    std::filesystem::remove_all(directory_.path() / "nb1" / file);
  }
  start(yaml(kDeb, kSky), "nb1");
  pass(minutes(1));
  EXPECT_THAT(uploads(), IsEmpty());
}

TEST_F(InterruptionTest, a_builder_that_has_lost_its_id_still_has_its_files) {
  start_with_one();
  const std::string id = builds().front().builder_id.value();
  stop();
  std::filesystem::remove(directory_.path() / "nb1/builder_id.txt");
  start(
      yaml(kDeb, std::string(kSky) + "  - {name: sky2, driver: sky, diskimages: [{name: deb}]}\n"));
  EXPECT_NE(test_support::read_file(directory_.path() / "nb1/builder_id.txt"), id);
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_THAT(workshop_->built, SizeIs(1));
}

TEST_F(InterruptionTest, a_stopped_builder_leaves_failures_and_no_half_files) {
  workshop_->build_time = minutes(10);
  start(yaml(kDeb, kSky), "nb1");
  pass(minutes(5));
  stop("nb1");
  ASSERT_THAT(builds(), SizeIs(1));
  EXPECT_EQ(builds().front().state, BuildState::failed);
  EXPECT_EQ(builds().front().failure, "the builder was stopped");
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(InterruptionTest, a_stopped_builder_leaves_no_half_image_in_the_cloud) {
  start_with_one();
  sky_->upload_time = minutes(10);
  put(model::build_request_path("deb"));
  pass(minutes(5));
  ASSERT_THAT(uploads(UploadState::uploading), SizeIs(1));
  ASSERT_THAT(sky_->images, SizeIs(2));
  stop();
  EXPECT_THAT(sky_->images, ElementsAre(testing::Key("image-1"))) << "the other one is in use";
  ASSERT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_EQ(uploads(UploadState::failed).front().failure, "the builder was stopped");
}

TEST_F(InterruptionTest, a_stopped_builder_logs_what_it_leaves_in_the_cloud) {
  sky_->upload_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(5));
  sky_->cannot_delete = true;
  stop();
  EXPECT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_THAT(log_, Contains(HasSubstr("of sky1 failed, leaving it to the leak detection")));
}

TEST_F(InterruptionTest, a_lost_session_ends_the_build) {
  workshop_->build_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(5));
  store_of().expire_for_tests();
  pass(seconds(5));
  ASSERT_THAT(builds(), SizeIs(1));
  EXPECT_EQ(builds().front().state, BuildState::failed);
  EXPECT_EQ(builds().front().failure, "the session with the store expired");
  EXPECT_THAT(builds().front().formats, IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(log_, Contains(HasSubstr("the session with the store expired")));
  pass(minutes(11));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
}

TEST_F(InterruptionTest, a_build_survives_a_store_outage) {
  workshop_->build_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(9));
  store_of().suspend_for_tests();
  pass(minutes(2));
  EXPECT_THAT(builds(BuildState::building), SizeIs(1));
  store_of().resume_for_tests();
  pass(seconds(2));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_THAT(workshop_->built, SizeIs(1));
}

TEST_F(InterruptionTest, a_graceful_stop_waits_for_a_short_outage) {
  workshop_->build_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(9));
  EXPECT_FALSE(finish());
  EXPECT_THAT(news_, Contains(HasSubstr("Waiting for build " + builds().front().id)));
  pass(seconds(50));
  store_of().suspend_for_tests();
  pass(seconds(50));
  EXPECT_FALSE(has_finished());
  store_of().resume_for_tests();
  pass(seconds(2));
  EXPECT_TRUE(has_finished());
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
}

TEST_F(InterruptionTest, a_graceful_stop_ends_in_a_long_outage) {
  workshop_->build_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(9));
  store_of().suspend_for_tests();
  pass(minutes(20));
  EXPECT_FALSE(finish()) << "the record cannot be written";
  pass(minutes(2));
  EXPECT_TRUE(has_finished());
  EXPECT_THAT(log_, Contains(HasSubstr("The store is unreachable: stopping without it")));
}

TEST_F(InterruptionTest, a_graceful_stop_in_an_outage_does_not_wait_to_remove_a_request) {
  start_with_one();
  pass(minutes(1));
  refusal_ =
      Refusal{coordination::StoreError::Kind::disconnected, model::build_request_path("deb")};
  put(model::build_request_path("deb"));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_FALSE(finish());
  store_of().suspend_for_tests();
  pass(minutes(2));
  EXPECT_TRUE(has_finished());
}

TEST_F(InterruptionTest, a_full_store_delays_a_build_without_backoff) {
  start_with_one();
  pass(minutes(59));
  refusal_ = Refusal{coordination::StoreError::Kind::no_space};
  pass(hours(5));
  EXPECT_THAT(workshop_->built, SizeIs(1));
  EXPECT_EQ(std::ranges::count_if(
                log_, [](const auto& line) { return line.contains("Building image deb"); }),
            1);
  refusal_.reset();
  pass(seconds(20));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
}

TEST_F(InterruptionTest, a_full_store_delays_an_upload) {
  start_with_one();
  refusal_ = Refusal{coordination::StoreError::Kind::no_space};
  reconfigure(
      yaml(kDeb, std::string(kSky) + "  - {name: sky2, driver: sky, diskimages: [{name: deb}]}\n"));
  pass(minutes(10));
  EXPECT_EQ(std::ranges::count_if(
                log_, [](const auto& line) { return line.contains("Uploading image deb"); }),
            1);
  refusal_.reset();
  pass(seconds(20));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
}

TEST_F(InterruptionTest, a_record_that_cannot_be_written_is_logged_once) {
  workshop_->build_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(9));
  const std::string record = model::build_path("deb", builds().front().id);
  refusal_ = Refusal{coordination::StoreError::Kind::not_permitted, record};
  pass(minutes(10));
  EXPECT_THAT(log_, ElementsAre(testing::AllOf(HasSubstr("Error writing " + record),
                                               HasSubstr("not permitted"))));
  refusal_.reset();
  pass(seconds(2));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
}

TEST_F(InterruptionTest, a_request_is_removed_after_an_outage) {
  start_with_one();
  pass(minutes(1));
  refusal_ =
      Refusal{coordination::StoreError::Kind::disconnected, model::build_request_path("deb")};
  put(model::build_request_path("deb"));
  pass(minutes(10));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  refusal_.reset();
  pass(seconds(2));
  EXPECT_FALSE(exists(model::build_request_path("deb")));
  pass(minutes(10));
  EXPECT_THAT(workshop_->built, SizeIs(2));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("Error removing")));
}

TEST_F(InterruptionTest, an_upload_survives_a_lost_session_while_its_record_exists) {
  sky_->upload_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(5));
  store_of().suspend_for_tests();
  store_of().expire_for_tests();
  pass(minutes(6));
  store_of().resume_for_tests();
  pass(minutes(20));
  ASSERT_GE(uploads(UploadState::ready).size(), 1);
  EXPECT_THAT(sky_->images, SizeIs(uploads(UploadState::ready).size()));
}

TEST_F(InterruptionTest, an_upload_continues_in_a_new_session) {
  sky_->upload_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(5));
  const std::vector<ImageUpload> begun = uploads(UploadState::uploading);
  ASSERT_THAT(begun, SizeIs(1));
  store_of().suspend_for_tests();
  store_of().expire_for_tests();
  pass(seconds(1));
  store_of().resume_for_tests();
  pass(minutes(6));
  EXPECT_THAT(uploads(), SizeIs(1));
  EXPECT_EQ(uploads(UploadState::ready).at(0).id, begun.front().id);
  EXPECT_THAT(sky_->images, SizeIs(1));
  EXPECT_EQ(sky_->deletions, 0);
}

TEST_F(InterruptionTest, an_upload_without_a_record_is_deleted_from_the_cloud) {
  sky_->upload_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(5));
  const ImageUpload upload = uploads().front();
  put(model::image_pause_path("deb"));
  loop_.run(people_->remove(model::upload_path("deb", upload.build_id, "sky1", upload.id),
                            coordination::kAnyVersion));
  reconfigure(
      yaml(kDeb, "  - {name: sky1, driver: sky, diskimages: [{name: deb, pause: true}]}\n"));
  pass(minutes(6));
  EXPECT_THAT(sky_->images, IsEmpty());
  EXPECT_EQ(sky_->deletions, 1);
  EXPECT_THAT(uploads(), IsEmpty());
}

}  // namespace
}  // namespace nodepool::builder
