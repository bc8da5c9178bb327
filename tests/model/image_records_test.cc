#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/failure_text.h"
#include "model/image_build.h"
#include "model/image_paths.h"
#include "model/image_upload.h"
#include "model/paths.h"

namespace nodepool::model {
namespace {

using coordination::Entry;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using Kind = ImagePath::Kind;

// As written by the Python Nodepool 11.
constexpr auto kBuilding =
    R"({"state": "building", "state_time": 1795230258.8000298, "builder": "b1.example.org", )"
    R"("builder_id": "5bbcd01d-6a1b-4a6e-a1f5-4c1ea4e2a1a1", "formats": "qcow2,raw", )"
    R"("username": null, "python_path": null, "shell_type": null})";
constexpr auto kFailed =
    R"({"state": "failed", "state_time": 1795230258.8, "builder": "b1.example.org", )"
    R"("username": "zuul", "python_path": "auto", "shell_type": null})";
constexpr auto kUpload =
    R"({"state": "ready", "state_time": 1795230300.5, "external_id": "a1b2", )"
    R"("external_name": "deb-1795230258", "format": "qcow2", "username": "zuul", )"
    R"("python_path": "auto", "shell_type": null})";

ImageBuild build_of(std::string text) {
  return parse_image_build("deb", "5bbc", {std::move(text), {}});
}

ImageUpload upload_of(std::string text) {
  return parse_image_upload("deb", "5bbc", "sky", "0000000001", {std::move(text), {}});
}

TEST(ImageBuildRecordTest, records_of_the_python_nodepool_come_back_byte_for_byte) {
  const ImageBuild building = build_of(kBuilding);
  EXPECT_EQ(building.image, "deb");
  EXPECT_EQ(building.id, "5bbc");
  EXPECT_EQ(building.state, BuildState::building);
  EXPECT_THAT(building.formats, ElementsAre("qcow2", "raw"));
  EXPECT_TRUE(building.has_format("raw"));
  EXPECT_FALSE(building.has_format("vhd"));
  EXPECT_EQ(building.username, std::nullopt);
  EXPECT_EQ(to_record(building), kBuilding);
  EXPECT_EQ(to_record(build_of(kFailed)), kFailed);
}

TEST(ImageBuildRecordTest, old_records_mean_what_was_true_of_old_images) {
  const ImageBuild build = build_of(R"({"state": "ready"})");
  EXPECT_EQ(build.username, "zuul");
  EXPECT_EQ(build.python_path, "/usr/bin/python2");
  EXPECT_EQ(build.shell_type, std::nullopt);
  EXPECT_EQ(build.builder, std::nullopt);
  EXPECT_THAT(build.formats, ElementsAre());
}

TEST(ImageBuildRecordTest, formats_are_written_sorted) {
  ImageBuild build;
  build.formats = {"vhd", "qcow2", "raw"};
  EXPECT_THAT(to_record(build), HasSubstr(R"("formats": "qcow2,raw,vhd")"));
}

TEST(ImageBuildRecordTest, unknown_keys_are_kept) {
  const ImageBuild build = build_of(R"({"later": [1], "state": "ready", "more": {"a": null}})");
  EXPECT_THAT(build.unknown,
              ElementsAre(Pair("later", Json{"[1]"}), Pair("more", Json{R"({"a": null})"})));
  EXPECT_THAT(to_record(build), HasSubstr(R"("later": [1], "more": {"a": null}})"));
}

TEST(ImageBuildRecordTest, what_is_no_build_is_refused_with_a_reason) {
  const auto reason = [](std::string text) -> std::string {
    try {
      build_of(std::move(text));
    } catch (const RecordError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(reason(""), HasSubstr("empty"));
  EXPECT_THAT(reason("{}"), HasSubstr("unknown build state ''"));
  EXPECT_THAT(reason(R"({"state": "uploading"})"), HasSubstr("unknown build state 'uploading'"));
  EXPECT_THAT(reason(R"({"state": "ready", "formats": ["raw"]})"), HasSubstr("'formats' is array"));
  EXPECT_THAT(reason(R"({"state": "ready", "state_time": "now"})"), HasSubstr("'state_time'"));
}

TEST(ImageUploadRecordTest, a_record_of_the_python_nodepool_comes_back_byte_for_byte) {
  const ImageUpload upload = upload_of(kUpload);
  EXPECT_EQ(upload.image, "deb");
  EXPECT_EQ(upload.build_id, "5bbc");
  EXPECT_EQ(upload.provider, "sky");
  EXPECT_EQ(upload.id, "0000000001");
  EXPECT_EQ(upload.state, UploadState::ready);
  EXPECT_EQ(upload.external_id.text, R"("a1b2")");
  EXPECT_EQ(to_record(upload), kUpload);
}

TEST(ImageUploadRecordTest, all_keys_are_written_and_unknown_ones_kept) {
  const ImageUpload upload =
      upload_of(R"({"state": "failed", "state_time": 2.5, "external_id": {"id": 1}, "x": 0})");
  EXPECT_EQ(to_record(upload),
            R"({"state": "failed", "state_time": 2.5, "external_id": {"id": 1}, )"
            R"("external_name": null, "format": null, "username": "zuul", )"
            R"("python_path": "/usr/bin/python2", "shell_type": null, "x": 0})");
}

TEST(ImageFailureTest, records_say_why_they_have_failed_as_long_as_they_are_kept) {
  ImageBuild build = build_of(kBuilding);
  build.fail("exit code 7", 8.5);
  EXPECT_EQ(build.state, BuildState::failed);
  EXPECT_THAT(to_record(build), HasSubstr(R"("state": "failed", "state_time": 8.5)"));
  EXPECT_THAT(to_record(build), HasSubstr(R"("shell_type": null, "failure": "exit code 7"})"));
  build = build_of(to_record(build));
  EXPECT_EQ(build.failure, "exit code 7");
  EXPECT_THAT(build.unknown, ElementsAre());
  build.set_state(BuildState::deleting, 9);
  EXPECT_EQ(build_of(to_record(build)).failure, "exit code 7");

  ImageUpload upload = upload_of(kUpload);
  upload.fail("no room", 8.5);
  EXPECT_EQ(upload.state, UploadState::failed);
  EXPECT_EQ(upload.state_time, 8.5);
  EXPECT_THAT(to_record(upload), HasSubstr(R"("shell_type": null, "failure": "no room"})"));
  EXPECT_EQ(upload_of(to_record(upload)).failure, "no room");
}

TEST(ImageFailureTest, what_has_not_failed_has_no_such_key) {
  for (const char* record : {kBuilding, kFailed}) {
    EXPECT_EQ(build_of(record).failure, std::nullopt);
    EXPECT_THAT(to_record(build_of(record)), Not(HasSubstr("failure")));
  }
  EXPECT_THAT(to_record(upload_of(kUpload)), Not(HasSubstr("failure")));
}

TEST(ImageFailureTest, a_reason_is_one_line_wherever_the_record_comes_from) {
  EXPECT_EQ(failure_text("\n cannot run\r\n\t\x1b[31m/bin/x:  no such\x7f file\n"),
            "cannot run [31m/bin/x: no such file");
  EXPECT_EQ(failure_text(""), "");
  EXPECT_EQ(build_of(R"({"state": "failed", "failure": "a\nb"})").failure, "a b");
  EXPECT_EQ(upload_of(R"({"state": "failed", "failure": "a\nb"})").failure, "a b");
}

TEST(ImageFailureTest, a_long_reason_loses_its_middle) {
  EXPECT_EQ(failure_text(std::string(kLongestFailure, 'a')), std::string(kLongestFailure, 'a'));
  const std::string cut = failure_text("cannot do it: " + std::string(5000, 'a') + ": disk full");
  EXPECT_THAT(cut, testing::StartsWith("cannot do it: aaa"));
  EXPECT_THAT(cut, HasSubstr("aaa … aaa"));
  EXPECT_THAT(cut, testing::EndsWith("aaa: disk full"));
  EXPECT_LE(cut.size(), kLongestFailure);
  EXPECT_GT(cut.size(), kLongestFailure - 10);
  EXPECT_EQ(failure_text(cut), cut);
}

TEST(ImageFailureTest, no_character_is_cut_into_halves) {
  for (std::size_t shift = 0; shift < 3; ++shift) {
    std::string reason(shift, 'a');
    for (int i = 0; i < 1000; ++i) reason += "漢";
    ImageBuild build;
    build.fail(reason, 0);
    const std::string written = *build.failure;
    EXPECT_LE(written.size(), kLongestFailure);
    EXPECT_EQ(build_of(to_record(build)).failure, written) << "broken ones are written as others";
  }
}

TEST(BuildLogTest, a_log_is_called_after_its_build) {
  EXPECT_EQ(build_log_name("debian-12", "5bbc"), "debian-12-5bbc.log");
}

TEST(ImageUploadRecordTest, a_state_of_something_else_is_refused) {
  EXPECT_THROW(upload_of(R"({"state": "building"})"), RecordError);
}

TEST(ImageStateTest, every_state_has_a_name_that_leads_back_to_it) {
  for (const BuildState state :
       {BuildState::building, BuildState::ready, BuildState::deleting, BuildState::failed}) {
    EXPECT_EQ(parse_build_state(to_string(state)), state);
  }
  for (const UploadState state :
       {UploadState::uploading, UploadState::ready, UploadState::deleting, UploadState::failed}) {
    EXPECT_EQ(parse_upload_state(to_string(state)), state);
  }
}

TEST(ImagePathTest, every_path_is_recognised_as_what_it_was_made_for) {
  struct Case {
    std::string path;
    Kind kind;
    std::string parts;  // image, build, provider, upload
  };
  const Case cases[] = {
      {image_path("deb"), Kind::image, "deb,,,"},
      {image_pause_path("deb"), Kind::pause, "deb,,,"},
      {build_request_path("deb"), Kind::build_request, "deb,,,"},
      {builds_path("deb"), Kind::builds, "deb,,,"},
      {builds_lock_path("deb"), Kind::builds_lock, "deb,,,"},
      {builds_lock_path("deb") + "/a__lock__0000000000", Kind::builds_contender, "deb,,,"},
      {build_path("deb", "b1"), Kind::build, "deb,b1,,"},
      {build_providers_path("deb", "b1"), Kind::providers, "deb,b1,,"},
      {build_providers_path("deb", "b1") + "/sky", Kind::provider, "deb,b1,sky,"},
      {uploads_path("deb", "b1", "sky"), Kind::uploads, "deb,b1,sky,"},
      {uploads_lock_path("deb", "b1", "sky"), Kind::uploads_lock, "deb,b1,sky,"},
      {uploads_lock_path("deb", "b1", "sky") + "/a__lock__0000000000", Kind::uploads_contender,
       "deb,b1,sky,"},
      {upload_path("deb", "b1", "sky", "0000000001"), Kind::upload, "deb,b1,sky,0000000001"},
  };
  for (const Case& test : cases) {
    ASSERT_TRUE(test.path.starts_with(std::string(kImagesRoot) + "/"));
    const auto parsed =
        parse_image_path(std::string_view(test.path).substr(kImagesRoot.size() + 1));
    ASSERT_TRUE(parsed) << test.path;
    EXPECT_EQ(parsed->kind, test.kind) << test.path;
    std::string parts(parsed->image);
    for (const std::string_view part : {parsed->build_id, parsed->provider, parsed->upload_id}) {
      parts.append(",").append(part);
    }
    EXPECT_EQ(parts, test.parts) << test.path;
  }
  EXPECT_EQ(upload_path("deb", "b1", "sky", "1"),
            "/nodepool/images/deb/builds/b1/providers/sky/images/1");
}

TEST(ImagePathTest, other_paths_are_nothing) {
  for (const char* path :
       {"", "/", "deb/", "deb//builds", "deb/what", "deb/pause/x", "deb/request-build/x",
        "deb/builds/lock/x", "deb/builds/lock/a__lock__0000000000/x", "deb/builds/b1/lock",
        "deb/builds/b1/what", "deb/builds/b1/providers/sky/what",
        "deb/builds/b1/providers/sky/images/lock/x",
        "deb/builds/b1/providers/sky/images/0000000001/lock",
        "deb/builds/b1/providers/sky/images/0000000001/lock/a__lock__0000000000"}) {
    EXPECT_FALSE(parse_image_path(path)) << path;
  }
}

}  // namespace
}  // namespace nodepool::model
