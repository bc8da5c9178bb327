// Tests builds and uploads.

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "model/change_image.h"
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
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class BuilderTest : public BuilderFixture {};

TEST_F(BuilderTest, an_image_without_a_build_is_built_and_uploaded_at_once) {
  workshop_->build_time = minutes(10);
  sky_->upload_time = minutes(5);
  start(yaml(kDeb, kSky));
  ASSERT_THAT(builds(), SizeIs(1));
  EXPECT_EQ(builds().front().state, BuildState::building);
  EXPECT_THAT(builds().front().formats, ElementsAre("qcow2"));
  EXPECT_EQ(builds().front().username, std::nullopt);
  pass(minutes(10));
  const ImageBuild build = builds().front();
  EXPECT_EQ(build.state, BuildState::ready);
  EXPECT_EQ(build.builder, "nb1.example");
  EXPECT_EQ(build.username, "ci");
  EXPECT_EQ(build.python_path, "auto");
  ASSERT_THAT(uploads(UploadState::uploading), SizeIs(1));
  pass(minutes(5));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(1));
  const ImageUpload upload = uploads().front();
  EXPECT_EQ(upload.external_id.string_value(), "image-1");
  EXPECT_EQ(upload.format, "qcow2");
  EXPECT_EQ(upload.username, "ci");
  EXPECT_EQ(upload.external_name, "deb-1700000600");
  const Sky::Image& image = sky_->images.at("image-1");
  EXPECT_EQ(image.name, "deb-1700000600");
  EXPECT_EQ(image.file.md5.size(), 32);
  EXPECT_EQ(image.file.sha256.size(), 64);
  EXPECT_THAT(
      image.metadata,
      ElementsAre(testing::Pair("nodepool_build_id", build.id),
                  testing::Pair("nodepool_installation_id", testing::Not(testing::IsEmpty())),
                  testing::Pair("nodepool_provider_name", "sky1"),
                  testing::Pair("nodepool_upload_id", upload.id), testing::Pair("owner", "sky1")));
  EXPECT_THAT(files(), SizeIs(3));
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(BuilderTest, lists_in_the_properties_of_an_image_reach_the_cloud) {
  start(yaml("  - {name: deb, metadata: {tags: [ci, debian], os: debian}}\n", kSky));
  ASSERT_THAT(sky_->images, SizeIs(1));
  const driver::Metadata& metadata = sky_->images.begin()->second.metadata;
  EXPECT_EQ(metadata.at("tags"), R"(["ci","debian"])");
  EXPECT_EQ(metadata.at("os"), "debian");
}

TEST_F(BuilderTest, a_build_is_made_again_when_it_has_reached_its_age) {
  start_with_one();
  pass(minutes(59));
  EXPECT_THAT(workshop_->built, SizeIs(1));
  pass(minutes(1));
  EXPECT_THAT(workshop_->built, SizeIs(2));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  pass(hours(3));
  EXPECT_THAT(builds(), SizeIs(2)) << "the two newest are kept";
  EXPECT_THAT(uploads(), SizeIs(2));
  EXPECT_THAT(sky_->images, SizeIs(2));
  EXPECT_THAT(files(), SizeIs(6));
}

TEST_F(BuilderTest, an_old_upload_stays_until_the_last_node_of_it_is_gone) {
  start_with_one();
  const ImageUpload first = uploads().front();
  const std::string record =
      model::upload_path(first.image, first.build_id, first.provider, first.id);
  const std::string node =
      R"({"state": "in-use", "provider": "sky1", "pool": "main", "image_id": ")" + record + R"("})";
  put("/nodepool/nodes/0000000001", node);
  put("/nodepool/nodes/0000000002", node);
  pass(hours(3));
  EXPECT_THAT(sky_->images, SizeIs(3)) << "the two newest, and the one in use";
  EXPECT_EQ(uploads().front().build_id, first.build_id);
  EXPECT_EQ(builds().front().id, first.build_id);
  EXPECT_THAT(files(), Not(Contains(HasSubstr(first.build_id)))) << "it is not uploaded again";
  EXPECT_THAT(files(), SizeIs(6));

  remove("/nodepool/nodes/0000000001");
  EXPECT_THAT(sky_->images, SizeIs(3));
  remove("/nodepool/nodes/0000000002");
  EXPECT_THAT(sky_->images, SizeIs(2));
  EXPECT_THAT(builds(), SizeIs(2));
}

TEST_F(BuilderTest, a_request_is_served_and_forgotten) {
  start_with_one();
  pass(minutes(1));
  put(model::build_request_path("deb"));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_FALSE(exists(model::build_request_path("deb")));
}

TEST_F(BuilderTest, a_request_during_a_build_leads_to_another_one) {
  workshop_->build_time = minutes(10);
  start(yaml(kDeb, kSky));
  pass(minutes(5));
  put(model::build_request_path("deb"));
  pass(minutes(5));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
  EXPECT_THAT(builds(BuildState::building), SizeIs(1));
  pass(minutes(10));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_FALSE(exists(model::build_request_path("deb")));
}

TEST_F(BuilderTest, a_request_is_served_once_if_the_clock_of_the_store_is_ahead) {
  start_with_one();
  pass(minutes(1));
  workshop_->build_time = minutes(10);
  clock_.shift_wall_clock(300);
  loop_.run(model::request_build(*people_, "deb"));
  clock_.shift_wall_clock(-300);
  pass(minutes(15));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_THAT(workshop_->built, SizeIs(2));
  EXPECT_FALSE(exists(model::build_request_path("deb")));
}

TEST_F(BuilderTest, a_request_during_a_build_counts_if_the_clock_of_the_builder_is_ahead) {
  workshop_->build_time = minutes(10);
  clock_.shift_wall_clock(300);
  start(yaml(kDeb, kSky));
  clock_.shift_wall_clock(-300);
  pass(minutes(1));
  put(model::build_request_path("deb"));
  pass(minutes(9));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
  EXPECT_THAT(builds(BuildState::building), SizeIs(1));
  pass(minutes(10));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(2));
  EXPECT_FALSE(exists(model::build_request_path("deb")));
}

TEST_F(BuilderTest, a_paused_image_is_not_built_until_it_is_unpaused) {
  put(model::image_pause_path("deb"));
  start(yaml(kDeb, kSky));
  put(model::build_request_path("deb"));
  EXPECT_THAT(builds(), IsEmpty());
  loop_.run(people_->remove(model::image_pause_path("deb"), coordination::kAnyVersion));
  settle();
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
}

TEST_F(BuilderTest, an_image_without_a_needed_format_is_not_built) {
  start(yaml("  - {name: deb}\n  - {name: raw, formats: [raw, vhd]}\n",
             "  - {name: sky1, driver: sky, diskimages: []}\n"));
  EXPECT_THAT(workshop_->built, ElementsAre("raw"));
  EXPECT_THAT(builds("raw").front().formats, ElementsAre("raw", "vhd"));
}

TEST_F(BuilderTest, a_failing_image_backs_off_and_blocks_no_other) {
  workshop_->exit_codes["bad"] = 7;
  start(yaml("  - {name: bad, formats: [raw]}\n  - {name: deb, formats: [raw]}\n",
             "  - {name: sky1, driver: sky, diskimages: []}\n"));
  EXPECT_THAT(builds(BuildState::ready, "deb"), SizeIs(1));
  ASSERT_THAT(builds("bad"), SizeIs(1));
  EXPECT_EQ(builds("bad").front().state, BuildState::failed);
  EXPECT_THAT(builds("bad").front().formats, IsEmpty());
  EXPECT_EQ(builds("bad").front().username, "zuul");
  EXPECT_THAT(builds("bad").front().failure.value_or(""),
              testing::StartsWith("exit code 7; its output is in "));
  EXPECT_THAT(log_, ElementsAre(testing::AllOf(HasSubstr("of image bad failed: exit code 7"),
                                               HasSubstr("retrying in 10 s"))));
  EXPECT_THAT(files(), SizeIs(3)) << "nothing of the failed build";
  const auto attempts = [this] { return std::ranges::count(workshop_->built, "bad"); };
  pass(seconds(9));
  EXPECT_EQ(attempts(), 1);
  pass(seconds(1));
  EXPECT_EQ(attempts(), 2);
  EXPECT_THAT(builds("bad"), SizeIs(1)) << "the failure before is gone";
  pass(seconds(20));
  EXPECT_EQ(attempts(), 3);
  pass(hours(10));
  EXPECT_LE(attempts(), 20);
  const auto before = attempts();
  workshop_->exit_codes.clear();
  put(model::build_request_path("bad"));
  EXPECT_EQ(attempts(), before + 1) << "a new request skips the delay";
  EXPECT_THAT(builds(BuildState::ready, "bad"), SizeIs(1));
}

TEST_F(BuilderTest, a_repeated_request_skips_the_delay_after_a_failure) {
  workshop_->exit_codes["deb"] = 7;
  start(yaml(kDeb, kSky));
  loop_.run(model::request_build(*people_, "deb"));
  settle();
  EXPECT_THAT(workshop_->built, SizeIs(2));
  pass(hours(5));
  const std::size_t before = workshop_->built.size();
  loop_.run(model::request_build(*people_, "deb"));
  settle();
  EXPECT_THAT(workshop_->built, SizeIs(before + 1)) << "once for each request";
  workshop_->exit_codes.clear();
  loop_.run(model::request_build(*people_, "deb"));
  settle();
  EXPECT_THAT(workshop_->built, SizeIs(before + 2));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
  EXPECT_FALSE(exists(model::build_request_path("deb")));
}

TEST_F(BuilderTest, a_request_during_a_failing_build_is_served_at_once) {
  workshop_->exit_codes["deb"] = 7;
  start(yaml(kDeb, kSky));
  pass(hours(5));
  workshop_->build_time = minutes(10);
  loop_.run(model::request_build(*people_, "deb"));
  pass(minutes(5));
  ASSERT_THAT(builds(BuildState::building), SizeIs(1));
  loop_.run(model::request_build(*people_, "deb"));
  pass(minutes(5));
  ASSERT_THAT(builds(BuildState::building), SizeIs(1));
  workshop_->exit_codes.clear();
  pass(minutes(10));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
  EXPECT_FALSE(exists(model::build_request_path("deb")));
}

TEST_F(BuilderTest, a_format_that_leads_elsewhere_is_refused) {
  try {
    start(yaml(kDeb, "  - {name: sky1, driver: sky, image-format: ../x, diskimages: []}\n"));
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "provider sky1: '../x' is not a valid image format");
  }
}

TEST_F(BuilderTest, a_changed_image_is_tried_at_once) {
  workshop_->exit_codes["deb"] = 1;
  start(yaml(kDeb, kSky));
  pass(hours(5));
  const std::size_t before = workshop_->built.size();
  workshop_->exit_codes.clear();
  reconfigure(yaml("  - {name: deb, elements: [vm]}\n", kSky));
  EXPECT_EQ(workshop_->built.size(), before + 1);
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
}

TEST_F(BuilderTest, an_image_with_a_changed_format_is_tried_at_once) {
  workshop_->exit_codes["deb"] = 1;
  start(yaml(kDeb, kSky));
  pass(hours(5));
  const std::size_t before = workshop_->built.size();
  workshop_->exit_codes.clear();
  reconfigure(
      yaml(kDeb, "  - {name: sky1, driver: sky, image-format: raw, diskimages: [{name: deb}]}\n"));
  EXPECT_EQ(workshop_->built.size(), before + 1);
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
}

TEST_F(BuilderTest, several_images_are_built_side_by_side) {
  workshop_->build_time = minutes(1);
  start(
      yaml("  - {name: a, formats: [raw]}\n  - {name: b, formats: [raw]}\n"
           "  - {name: c, formats: [raw]}\n",
           "  - {name: sky1, driver: sky, diskimages: []}\n"));
  pass(minutes(2));
  EXPECT_THAT(workshop_->built, SizeIs(3));
  EXPECT_EQ(workshop_->most_under_way, 2) << "as many as there are workers";
}

TEST_F(BuilderTest, failing_uploads_are_tried_again_and_block_no_others) {
  sky_->broken.insert("sky1");
  start(
      yaml(kDeb, std::string(kSky) + "  - {name: sky2, driver: sky, diskimages: [{name: deb}]}\n"));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_EQ(uploads(UploadState::ready).front().provider, "sky2");
  ASSERT_THAT(uploads(UploadState::failed), SizeIs(1));
  const ImageUpload failed = uploads(UploadState::failed).front();
  EXPECT_EQ(failed.external_name, std::nullopt);
  EXPECT_EQ(failed.username, std::nullopt);
  EXPECT_EQ(sky_->uploads, 2);
  pass(seconds(10));
  EXPECT_EQ(sky_->uploads, 3);
  EXPECT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_NE(uploads(UploadState::failed).front().id, failed.id);
  sky_->broken.clear();
  pass(seconds(20));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_THAT(uploads(), SizeIs(2));
}

// They may share an account.
TEST_F(BuilderTest, uploads_of_a_build_have_different_names) {
  start(
      yaml(kDeb, std::string(kSky) + "  - {name: sky2, driver: sky, diskimages: [{name: deb}]}\n"));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(2));
  EXPECT_NE(uploads().front().external_name, uploads().back().external_name);
}

TEST_F(BuilderTest, a_paused_provider_gets_nothing) {
  start(yaml(kDeb, "  - {name: sky1, driver: sky, diskimages: [{name: deb, pause: true}]}\n"));
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
  EXPECT_THAT(uploads(), IsEmpty());
  reconfigure(yaml(kDeb, kSky));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
}

TEST_F(BuilderTest, an_upload_whose_file_has_vanished_is_not_repeated) {
  start(yaml(kDeb, "  - {name: sky1, driver: sky, diskimages: [{name: deb, pause: true}]}\n"));
  ASSERT_THAT(builds(BuildState::ready), SizeIs(1));
  const std::string name = "deb-" + builds().front().id + ".qcow2";
  ASSERT_TRUE(std::filesystem::remove(directory_.path() / "nb1" / name));
  reconfigure(yaml(kDeb, kSky));
  pass(minutes(30));
  EXPECT_EQ(sky_->uploads, 0);
  EXPECT_THAT(log_, Contains(HasSubstr("file not found")).Times(testing::Le(1)));
  pass(minutes(31));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1)) << "of the next build";
}

TEST_F(BuilderTest, a_hook_is_run_after_the_upload) {
  const auto hook = directory_.write("hook", "#!/bin/sh\necho \"$1 $2 $3\"\n");
  std::filesystem::permissions(hook, std::filesystem::perms::owner_all);
  start(yaml(kDeb,
             "  - {name: sky1, driver: sky, diskimages: [{name: deb}],\n"
             "     post-upload-hook: " +
                 hook.string() + "}\n"));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  const std::string id = builds().front().id;
  EXPECT_EQ(test_support::read_file(directory_.path() / "logs/hooks" / ("deb-" + id + ".log")),
            "sky1 image-1 " + (directory_.path() / "nb1").string() + "/deb-" + id + ".qcow2\n");
}

TEST_F(BuilderTest, a_hook_may_start_a_program_that_outlives_it) {
  const std::string directory = directory_.path().string();
  const auto hook = directory_.write(
      "hook",
      "#!/bin/sh\ncd " + directory +
          "\n(until [ -e go ] || [ ! -e hook ]; do sleep 0.01; done; touch ran) > /dev/null "
          "2>&1 &\n");
  std::filesystem::permissions(hook, std::filesystem::perms::owner_all);
  start(yaml(kDeb,
             "  - {name: sky1, driver: sky, diskimages: [{name: deb}],\n"
             "     post-upload-hook: " +
                 hook.string() + "}\n"));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  directory_.write("go", "");
  const auto end = std::chrono::steady_clock::now() + seconds(30);
  while (!std::filesystem::exists(directory_.path() / "ran")) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "it was killed";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST_F(BuilderTest, an_upload_whose_hook_fails_has_failed_and_is_deleted) {
  start(yaml(kDeb,
             "  - {name: sky1, driver: sky, diskimages: [{name: deb}],\n"
             "     post-upload-hook: /bin/false}\n"));
  EXPECT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_THAT(sky_->images, IsEmpty());
  EXPECT_EQ(sky_->deletions, 1);
  EXPECT_THAT(log_, Contains(HasSubstr("post-upload-hook /bin/false failed: exit code 1")));
}

TEST_F(BuilderTest, a_hook_is_run_without_a_log_if_none_can_be_opened) {
  directory_.write("logs/hooks", "not a directory");
  const std::string ran = directory_.path() / "ran";
  const auto hook = directory_.write("hook", "#!/bin/sh\necho output\ntouch " + ran + "\n");
  std::filesystem::permissions(hook, std::filesystem::perms::owner_all);
  start(yaml(kDeb,
             "  - {name: sky1, driver: sky, diskimages: [{name: deb}],\n"
             "     post-upload-hook: " +
                 hook.string() + "}\n"));
  EXPECT_TRUE(std::filesystem::exists(ran));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_EQ(sky_->deletions, 0);
  EXPECT_THAT(log_, ElementsAre(testing::AllOf(HasSubstr("The log of a post-upload-hook"),
                                               HasSubstr("the output is discarded"))));
}

// Runs while the file `hold` exists.
class HeldHookTest : public BuilderFixture {
 protected:
  HeldHookTest() {
    waits_for_programs_ = false;
    upload_workers_ = 1;
    const auto hook = directory_.write(
        "hook", "#!/bin/sh\ntouch " + begun_ + "; while [ -e " + hold_ + " ]; do sleep 0.01; done");
    std::filesystem::permissions(hook, std::filesystem::perms::owner_all);
    directory_.write("hold", "");
    start(yaml(kDeb,
               "  - {name: sky1, driver: sky, diskimages: [{name: deb}],\n"
               "     post-upload-hook: " +
                   hook.string() + "}\n" +
                   "  - {name: sky2, driver: sky, diskimages: [{name: deb}]}\n"));
    until("the hook", [this] { return std::filesystem::exists(begun_); });
  }
  ~HeldHookTest() override { release(); }

  void release() {
    waits_for_programs_ = true;
    std::filesystem::remove(hold_);
    settle();
  }

  template <typename Condition>
  void until(const std::string& what, Condition condition) {
    const auto end = std::chrono::steady_clock::now() + seconds(30);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << what;
      settle();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  const std::string begun_ = (directory_.path() / "begun").string();
  const std::string hold_ = (directory_.path() / "hold").string();
};

TEST_F(HeldHookTest, takes_as_long_as_it_likes) {
  clock_.advance_to(clock_.now() + hours(30));
  settle();
  release();
  EXPECT_THAT(log_, IsEmpty());
  EXPECT_THAT(uploads(UploadState::failed), IsEmpty());
}

TEST_F(HeldHookTest, holds_up_no_other_upload) {
  until("the other upload", [this] { return uploads(UploadState::ready).size() == 1; });
  EXPECT_THAT(uploads(UploadState::uploading), SizeIs(1));
  release();
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
}

TEST_F(HeldHookTest, ends_with_the_builder) {
  until("the other upload", [this] { return uploads(UploadState::ready).size() == 1; });
  stop();
  EXPECT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_THAT(sky_->images, SizeIs(1)) << "that of the other provider";
}

TEST_F(BuilderTest, an_unreadable_record_disturbs_no_other) {
  put(model::build_path("deb", std::string(32, 'b')), "no JSON");
  start_with_one();
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
}

TEST_F(BuilderTest, figures_are_sent) {
  clock_.shift_wall_clock(0.5);
  start_with_one();
  EXPECT_THAT(figures_,
              Contains(ContainsRegex("nodepool.dib_image_build.deb.status.last_build:[0-9]+\\|g")))
      << "whole seconds";
  EXPECT_THAT(figures_, Contains(HasSubstr("nodepool.dib_image_build.deb.status.rc:0|g")));
  EXPECT_THAT(figures_, Contains(HasSubstr("nodepool.dib_image_build.deb.qcow2.size:")));
  EXPECT_THAT(figures_, Contains(HasSubstr("nodepool.image_update.deb.sky1:")));
  figures_.clear();
  put(model::image_pause_path("deb"));
  put(model::build_request_path("deb"));
  pass(minutes(1));
  EXPECT_THAT(figures_, Contains(HasSubstr("nodepool.image_build_requests:1|g")));
  EXPECT_THAT(figures_, Contains(HasSubstr("nodepool.image.deb.image_build_requests:1|g")));
  figures_.clear();
  workshop_->build_time = hours(1);
  remove(model::image_pause_path("deb"));
  pass(minutes(1));
  std::string all;
  for (const std::string& figure : figures_) all += figure + "\n";
  EXPECT_THAT(all, HasSubstr("nodepool.image_build_requests:0|g\n")) << "it is being built";
  EXPECT_THAT(all, HasSubstr("nodepool.image.deb.image_build_requests:0|g\n"));
  EXPECT_THAT(all, HasSubstr("nodepool.builder.nb1.example.image.deb.build.state:1|g\n"));
  EXPECT_THAT(all,
              HasSubstr("nodepool.builder.nb1.example.image.deb.provider.sky1.upload.state:0|g\n"));
}

TEST_F(BuilderTest, figures_are_current_whenever_they_are_scraped) {
  start_with_one();
  std::string all = scraped();
  EXPECT_THAT(all, HasSubstr("\nnodepool_build_requests 0\n"));
  EXPECT_THAT(all, HasSubstr("nodepool_image_build_requests{image=\"deb\"} 0\n"));
  EXPECT_THAT(all, HasSubstr("nodepool_image_build_exit_code{image=\"deb\"} 0\n"));
  EXPECT_THAT(all, HasSubstr("nodepool_image_build_state{host=\"nb1.example\",image=\"deb\"} 0\n"));
  EXPECT_THAT(all, HasSubstr("nodepool_image_upload_state{host=\"nb1.example\",image=\"deb\","
                             "provider=\"sky1\"} 0\n"));
  workshop_->build_time = hours(1);
  put(model::image_pause_path("deb"));
  put(model::build_request_path("deb"));
  EXPECT_THAT(scraped(), HasSubstr("\nnodepool_build_requests 1\n"));
  remove(model::image_pause_path("deb"));
  pass(minutes(1));
  all = scraped();
  EXPECT_THAT(all, HasSubstr("\nnodepool_build_requests 0\n")) << "it is being built";
  EXPECT_THAT(all, HasSubstr("nodepool_image_build_state{host=\"nb1.example\",image=\"deb\"} 1\n"));
}

// The line of /metrics that begins like this; empty without one.
std::string line_of(const std::string& metrics, const std::string& begin) {
  const std::size_t found = metrics.find("\n" + begin + " ");
  if (found == std::string::npos) return "";
  return metrics.substr(found + 1, metrics.find('\n', found + 1) - found - 1);
}

constexpr auto kReadyBuild = "nodepool_image_newest_ready_build_timestamp_seconds{image=\"deb\"}";
constexpr auto kReadyUpload =
    "nodepool_image_newest_ready_upload_timestamp_seconds{image=\"deb\",provider=\"sky1\"}";

TEST_F(BuilderTest, the_age_of_images_survives_restarts_and_failures) {
  start_with_one();
  const std::string before = scraped();
  EXPECT_NE(line_of(before, kReadyBuild), "");
  EXPECT_NE(line_of(before, kReadyUpload), "");
  EXPECT_THAT(before, HasSubstr("nodepool_image_rebuild_age_seconds{image=\"deb\"} 3600\n"));
  stop();
  workshop_->exit_codes["deb"] = 1;
  start(yaml(kDeb, kSky));
  pass(hours(2));
  ASSERT_THAT(builds(BuildState::failed), Not(IsEmpty()));
  const std::string after = scraped();
  EXPECT_EQ(line_of(after, kReadyBuild), line_of(before, kReadyBuild));
  EXPECT_EQ(line_of(after, kReadyUpload), line_of(before, kReadyUpload));
}

// It is not built again, so its age needs no attention.
TEST_F(BuilderTest, an_image_that_no_provider_uses_has_no_rebuild_age) {
  start_with_one();
  reconfigure(yaml(kDeb, "  - {name: sky1, driver: sky, image-format: qcow2, diskimages: []}\n"));
  EXPECT_THAT(scraped(), Not(HasSubstr("nodepool_image_rebuild_age_seconds{image=\"deb\"}")));
}

TEST_F(BuilderTest, results_of_builds_and_uploads_are_counted_from_0_on) {
  const std::string of_build = "nodepool_image_builds_total{image=\"deb\",result=";
  const std::string of_upload =
      "nodepool_image_uploads_total{image=\"deb\",provider=\"sky1\",result=";
  workshop_->cannot_start = true;
  start(yaml(kDeb, kSky));
  std::string all = scraped();
  EXPECT_THAT(all, HasSubstr(of_build + "\"done\"} 0\n"));
  EXPECT_THAT(all, HasSubstr(of_build + "\"failed\"} 1\n"));
  EXPECT_THAT(all, HasSubstr(of_upload + "\"failed\"} 0\n"));
  EXPECT_EQ(line_of(all, kReadyBuild), "");
  workshop_->cannot_start = false;
  sky_->broken = {"sky1"};
  pass(minutes(1));
  all = scraped();
  EXPECT_THAT(all, HasSubstr(of_build + "\"done\"} 1\n"));
  EXPECT_THAT(all, HasSubstr(of_upload + "\"done\"} 0\n"));
  EXPECT_THAT(all, Not(HasSubstr(of_upload + "\"failed\"} 0\n")));
  EXPECT_EQ(line_of(all, kReadyUpload), "");
  sky_->broken.clear();
  pass(minutes(30));
  EXPECT_THAT(scraped(), HasSubstr(of_upload + "\"done\"} 1\n"));
}

TEST_F(BuilderTest, figures_of_removed_images_and_providers_disappear) {
  start_with_one();
  pass(minutes(1));
  reconfigure(
      yaml("  - {name: fed, username: ci, rebuild-age: 3600}\n",
           "  - {name: sky2, driver: sky, image-format: qcow2, diskimages: [{name: fed}]}\n"));
  const std::string all = scraped();
  EXPECT_THAT(all, HasSubstr("nodepool_image_build_state{host=\"nb1.example\",image=\"fed\"}"));
  EXPECT_THAT(all, Not(HasSubstr("state{host=\"nb1.example\",image=\"deb\"")));
  EXPECT_THAT(all, Not(HasSubstr("nodepool_image_build_exit_code{image=\"deb\"}")));
  EXPECT_THAT(all, Not(HasSubstr("nodepool_image_size_bytes{image=\"deb\"")));
  EXPECT_THAT(all, HasSubstr("nodepool_image_build_seconds_count{image=\"deb\"} 1\n"));
}

}  // namespace
}  // namespace nodepool::builder
