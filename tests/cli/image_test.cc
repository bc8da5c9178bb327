#include <gmock/gmock.h>

#include "coordination/lock.h"
#include "coordination/tree.h"
#include "model/image_build.h"
#include "model/image_paths.h"
#include "model/image_upload.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double kNow = 1'700'000'000.0;
constexpr const char* kBuild1 = "0123456789abcdef0123456789abcdef";
constexpr const char* kBuilder = "/nodepool/components/builder/b1-0000000000";
constexpr const char* kBuild2 = "fedcba9876543210fedcba9876543210";

class ImageTest : public CliTest {
 protected:
  ImageTest() {
    config_ +=
        "diskimages:\n- {name: deb}\n- {name: win, pause: true}\n- {name: base, abstract: true}\n";
  }

  void put(const std::string& path, const std::string& text) {
    run(coordination::ensure_path(store_, path));
    run(store_.set(path, text, coordination::kAnyVersion));
  }
  void register_builder() { put(kBuilder, R"({"hostname": "b1", "state": "running"})"); }
  std::string text_of(const std::string& path) { return run(store_.get(path)).data; }
  bool exists(const std::string& path) { return run(store_.exists(path)).has_value(); }

  void put_build(const std::string& image, const std::string& id, model::BuildState state) {
    model::ImageBuild build;
    build.set_state(state, kNow - 65);
    build.builder = "b1.example.org";
    build.formats = {"raw", "qcow2"};
    put(model::build_path(image, id), to_record(build));
  }
  void put_upload(const std::string& image, const std::string& build, const std::string& provider,
                  const std::string& id, model::UploadState state) {
    model::ImageUpload upload;
    upload.set_state(state, kNow - 3665);
    if (state == model::UploadState::ready) {
      upload.external_id = {R"("a1b2")"};
      upload.external_name = "deb-1699999999";
      upload.format = "qcow2";
    }
    put(model::upload_path(image, build, provider, id), to_record(upload));
  }
};

TEST_F(ImageTest, an_installation_without_images_has_empty_tables) {
  EXPECT_EQ(nodepool({"dib-image-list"}), 0);
  EXPECT_EQ(out(),
            "+----+-------+---------+---------+-------+-----+\n"
            "| ID | Image | Builder | Formats | State | Age |\n"
            "+----+-------+---------+---------+-------+-----+\n"
            "+----+-------+---------+---------+-------+-----+\n");
  EXPECT_EQ(nodepool({"image-list"}), 0);
  const std::string rule =
      "+----------+-----------+----------+-------+---------------------+-------------------+-------"
      "+-----+\n";
  EXPECT_EQ(out(), rule +
                       "| Build ID | Upload ID | Provider | Image | Provider Image Name | Provider "
                       "Image ID | State | Age |\n" +
                       rule + rule);
  EXPECT_EQ(nodepool({"image-status"}), 0);
  EXPECT_EQ(out(),
            "+-------+--------+---------------+-------------------+\n"
            "| Image | Paused | Build Request | Build Request Age |\n"
            "+-------+--------+---------------+-------------------+\n"
            "+-------+--------+---------------+-------------------+\n");
  for (const char* command : {"dib-image-list", "image-list", "image-status"}) {
    EXPECT_EQ(nodepool({command, "--json"}), 0);
    EXPECT_EQ(out(), "[]\n");
  }
  EXPECT_FALSE(exists(std::string(model::kImagesRoot))) << "a listing writes nothing";
}

TEST_F(ImageTest, builds_are_listed) {
  put_build("deb", kBuild1, model::BuildState::ready);
  put_build("win", kBuild2, model::BuildState::failed);
  put(model::image_pause_path("win"), "");
  put(model::builds_lock_path("deb"), "");
  EXPECT_EQ(nodepool({"dib-image-list"}), 0);
  EXPECT_EQ(
      out(),
      "+--------------------------------------+-------+----------------+-----------+--------+-"
      "------------+\n"
      "| ID                                   | Image | Builder        | Formats   | State  | "
      "Age         |\n"
      "+--------------------------------------+-------+----------------+-----------+--------+-"
      "------------+\n"
      "| deb-0123456789abcdef0123456789abcdef | deb   | b1.example.org | qcow2,raw | ready  | "
      "00:00:01:05 |\n"
      "| win-fedcba9876543210fedcba9876543210 | win   | b1.example.org | qcow2,raw | paused | "
      "00:00:01:05 |\n"
      "+--------------------------------------+-------+----------------+-----------+--------+-"
      "------------+\n");
  run(coordination::remove_tree(store_, model::image_path("deb")));
  EXPECT_EQ(nodepool({"dib-image-list", "--json"}), 0);
  EXPECT_EQ(out(), std::string(R"([{"id": "win-)") + kBuild2 +
                       R"(", "image": "win", "builder": "b1.example.org", )"
                       R"("formats": ["qcow2", "raw"], "state": "paused", "age": "00:00:01:05", )"
                       R"("build_state": "failed", "log": "/var/log/nodepool/builds/win-)" +
                       kBuild2 +
                       R"(.log", "problem": null, "age_seconds": 65}])"
                       "\n");
}

TEST_F(ImageTest, uploads_are_listed) {
  put_upload("deb", "b1", "sky", "0000000002", model::UploadState::uploading);
  put_upload("deb", "b1", "sky", "0000000001", model::UploadState::ready);
  put_upload("deb", "b1", "other", "0000000001", model::UploadState::failed);
  put(model::uploads_lock_path("deb", "b1", "sky"), "");
  EXPECT_EQ(nodepool({"image-list"}), 0);
  const std::string rule =
      "+----------+------------+----------+-------+---------------------+-------------------+------"
      "-----+-------------+\n";
  EXPECT_EQ(out(),
            rule +
                "| Build ID | Upload ID  | Provider | Image | Provider Image Name | Provider Image "
                "ID | State     | Age         |\n" +
                rule +
                "| b1       | 0000000001 | other    | deb   |                     |                "
                "   | failed    | 00:01:01:05 |\n"
                "| b1       | 0000000001 | sky      | deb   | deb-1699999999      | a1b2           "
                "   | ready     | 00:01:01:05 |\n"
                "| b1       | 0000000002 | sky      | deb   |                     |                "
                "   | uploading | 00:01:01:05 |\n" +
                rule);
}

TEST_F(ImageTest, details_of_builds_say_where_their_logs_are_and_why_they_have_failed) {
  config_ += "build-log-dir: /logs\n";
  put_build("deb", kBuild1, model::BuildState::ready);
  model::ImageBuild failed;
  failed.builder = "b1.example.org";
  failed.fail("exit code 7; its output is in /logs/win-" + std::string(kBuild2) +
                  ".log; the disk of /opt/nodepool/images is full",
              kNow - 65);
  put(model::build_path("win", kBuild2), to_record(failed));
  put(model::image_pause_path("win"), "");
  EXPECT_EQ(nodepool({"dib-image-list", "--detail"}), 0);
  EXPECT_THAT(out(), HasSubstr("| State  | Age         | Build State | Log                      "
                               "                      | Problem      "));
  EXPECT_THAT(out(), HasSubstr("| ready  | 00:00:01:05 | ready       | "
                               "/logs/deb-0123456789abcdef0123456789abcdef.log |        "));
  EXPECT_THAT(out(), HasSubstr("| paused | 00:00:01:05 | failed      | "
                               "/logs/win-fedcba9876543210fedcba9876543210.log | exit code 7; its "
                               "output is in /logs/win-fedcba9876543210fedcba9876543210.log; |\n"));
  EXPECT_THAT(out(), HasSubstr("| the disk of /opt/nodepool/images is full "));
  EXPECT_EQ(nodepool({"dib-image-list", "--detail", "--json"}), 0);
  EXPECT_THAT(out(), HasSubstr(R"("state": "paused", "age": "00:00:01:05", )"
                               R"("build_state": "failed", "log": "/logs/win-)" +
                               std::string(kBuild2) + R"(.log", "problem": "exit code 7; )"));
  EXPECT_THAT(out(), HasSubstr(R"(is full", "age_seconds": 65}])"));
  EXPECT_THAT(out(), HasSubstr(R"("problem": null, "age_seconds": 65})"));
}

TEST_F(ImageTest, details_of_uploads_say_why_they_have_failed) {
  put_upload("deb", "b1", "sky", "0000000001", model::UploadState::ready);
  model::ImageUpload failed;
  failed.fail("validation: " + std::string(5000, 'x'), kNow - 65);
  put(model::upload_path("deb", "b1", "sky", "0000000002"), to_record(failed));
  EXPECT_EQ(nodepool({"image-list", "--detail"}), 0);
  EXPECT_THAT(out(), HasSubstr("| State  | Age         | Format | Problem    "));
  EXPECT_THAT(out(), HasSubstr("| ready  | 00:01:01:05 | qcow2  |        "));
  EXPECT_THAT(out(), HasSubstr("| failed | 00:00:01:05 |        | validation: "));
  EXPECT_LT(out().find('\n'), 220U) << "the table's width";
  EXPECT_EQ(nodepool({"image-list", "--detail", "--json"}), 0);
  EXPECT_THAT(
      out(),
      HasSubstr(
          R"("age": "00:01:01:05", "format": "qcow2", "problem": null, "age_seconds": 3665})"));
  EXPECT_THAT(out(), HasSubstr(R"("format": null, "problem": "validation: xxx)"));
  EXPECT_EQ(nodepool({"image-list", "--state", "ready", "--json"}), 0);
  EXPECT_THAT(out(), testing::EndsWith(R"("problem": null, "age_seconds": 3665}])"
                                       "\n"));
}

TEST_F(ImageTest, without_details_the_listings_are_those_of_the_python_nodepool) {
  model::ImageBuild build;
  build.fail("exit code 7", kNow);
  put(model::build_path("deb", "b1"), to_record(build));
  model::ImageUpload upload;
  upload.fail("no room", kNow);
  put(model::upload_path("deb", "b1", "sky", "0000000001"), to_record(upload));
  EXPECT_EQ(nodepool({"dib-image-list"}), 0);
  EXPECT_THAT(out(), HasSubstr("| ID     | Image | Builder | Formats | State  | Age         |\n"));
  EXPECT_EQ(nodepool({"image-list"}), 0);
  EXPECT_THAT(out(), HasSubstr("| State  | Age         |\n"));
}

TEST_F(ImageTest, the_status_of_images_is_that_of_the_store) {
  put(model::image_pause_path("bsd"), "");
  put_build("deb", "b1", model::BuildState::ready);
  EXPECT_EQ(nodepool({"image-build", "deb"}), 0);
  clock_.advance_by(std::chrono::seconds(65));
  EXPECT_EQ(nodepool({"image-status"}), 0);
  EXPECT_EQ(out(),
            "+-------+--------+---------------+-------------------+\n"
            "| Image | Paused | Build Request | Build Request Age |\n"
            "+-------+--------+---------------+-------------------+\n"
            "| bsd   | True   |               |                   |\n"
            "| deb   | False  | pending       | 00:00:01:05       |\n"
            "+-------+--------+---------------+-------------------+\n");
  coordination::Lock lock(store_, random_, model::builds_lock_path("deb"));
  EXPECT_TRUE(run(lock.try_acquire()));
  EXPECT_EQ(nodepool({"image-status", "--json"}), 0);
  EXPECT_EQ(out(), R"([{"image": "bsd", "paused": true, "build_request": null, )"
                   R"("build_request_age": null}, {"image": "deb", "paused": false, )"
                   R"("build_request": "building", "build_request_age": "00:00:01:05"}])"
                   "\n");
  run(coordination::remove_tree(store_, model::build_path("deb", "b1")));
  EXPECT_EQ(nodepool({"image-status"}), 0);
  EXPECT_THAT(out(), HasSubstr("| pending       |")) << "the lock holder has not begun";
}

TEST_F(ImageTest, a_bad_record_is_left_out_of_listings_with_a_warning) {
  put(model::build_path("deb", "b1"), "not JSON");
  testing::internal::CaptureStderr();
  EXPECT_EQ(nodepool({"dib-image-list", "--json"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("Ignoring the record /nodepool/images/deb/builds/b1"));
  EXPECT_EQ(out(), "[]\n");
}

TEST_F(ImageTest, a_build_can_be_requested_of_images_that_are_built) {
  EXPECT_EQ(nodepool({"image-build", "deb"}), 0);
  EXPECT_EQ(nodepool({"image-build", "deb"}), 0) << "once more";
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "");
  EXPECT_EQ(text_of("/nodepool/images/deb/request-build"), "");
  for (const char* image : {"bsd", "base"}) {
    EXPECT_EQ(nodepool({"image-build", image}), 1);
    EXPECT_EQ(err(), std::string("nodepool: Trying to build a non disk-image-builder image: ") +
                         image + "\n");
  }
  EXPECT_EQ(nodepool({"image-build", "win"}), 1);
  EXPECT_EQ(err(), "nodepool: Skipping build request for image win; paused\n");
  EXPECT_FALSE(exists(model::image_path("win")));
}

// A builder elsewhere, whose build fails.
async::Task<> fail_to_build(coordination::Store& store) {
  const std::string path = model::build_path("deb", "b1");
  model::ImageBuild build;
  build.set_state(model::BuildState::building, kNow);
  build.builder = "b1.example.org";
  co_await coordination::ensure_path(store, path);
  co_await store.set(path, to_record(build), coordination::kAnyVersion);
  build.fail("exit code 7; its output is elsewhere", kNow);
  co_await store.set(path, to_record(build), coordination::kAnyVersion);
}

// One that goes in the middle of it.
async::Task<> begin_to_build_and_die(coordination::Store& store) {
  const std::string path = model::build_path("deb", "b1");
  model::ImageBuild build;
  build.set_state(model::BuildState::building, kNow);
  co_await coordination::ensure_path(store, path);
  co_await store.set(path, to_record(build), coordination::kAnyVersion);
  co_await store.remove(kBuilder, coordination::kAnyVersion);
}

TEST_F(ImageTest, following_a_build_without_a_builder_fails_with_the_reason) {
  EXPECT_EQ(nodepool({"image-build", "deb", "--follow"}), 1);
  EXPECT_EQ(err(), "nodepool: No builder is running; the build starts when that changes\n");
  EXPECT_TRUE(exists(model::build_request_path("deb")));
  register_builder();
  EXPECT_EQ(nodepool({"image-pause", "deb"}), 0);
  EXPECT_EQ(nodepool({"image-build", "deb", "--follow"}), 1);
  EXPECT_EQ(
      err(),
      "nodepool: Image deb is paused (see image-unpause); the build starts when that changes\n");
}

TEST_F(ImageTest, following_a_build_fails_when_its_builder_dies) {
  register_builder();
  const coordination::Subscription asked =
      store_.watch(model::build_request_path("deb"), [this](const coordination::WatchEvent& event) {
        if (event.kind != coordination::WatchEvent::Kind::created) return;
        scope_.spawn("builder", begin_to_build_and_die(store_));
      });
  EXPECT_EQ(nodepool({"image-build", "deb", "--follow"}), 1);
  EXPECT_THAT(err(), EndsWith("No builder is running any more: build deb-b1 was interrupted\n"));
}

TEST_F(ImageTest, with_wait_the_command_waits_for_a_builder) {
  const coordination::Subscription asked =
      store_.watch(model::build_request_path("deb"), [this](const coordination::WatchEvent& event) {
        if (event.kind != coordination::WatchEvent::Kind::created) return;
        scope_.spawn("builder", fail_to_build(store_));
      });
  EXPECT_EQ(nodepool({"image-build", "deb", "--follow", "--wait"}), 1);
  EXPECT_THAT(err(), testing::StartsWith("No builder is running, waiting\nBuild deb-b1 by "));
  EXPECT_NE(nodepool({"image-build", "deb", "--wait"}), 0) << "there is nothing to wait for";
}

TEST_F(ImageTest, following_a_build_shows_why_it_failed) {
  register_builder();
  config_ += "build-log-dir: " + (directory_.path() / "none").string() + "\n";
  const coordination::Subscription asked =
      store_.watch(model::build_request_path("deb"), [this](const coordination::WatchEvent& event) {
        if (event.kind != coordination::WatchEvent::Kind::created) return;
        scope_.spawn("builder", fail_to_build(store_));
      });
  EXPECT_EQ(nodepool({"image-build", "deb", "--follow"}), 1);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("Build deb-b1 by b1.example.org, log "));
  EXPECT_THAT(err(), EndsWith("The log is not on this host, or empty\n"
                              "Build deb-b1 failed: exit code 7; its output is elsewhere\n"));
}

TEST_F(ImageTest, images_are_paused_and_unpaused_silently) {
  EXPECT_EQ(nodepool({"image-build", "deb"}), 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(nodepool({"image-pause", "deb"}), 0);
    EXPECT_TRUE(exists("/nodepool/images/deb/pause"));
    EXPECT_EQ(out() + err(), "");
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(nodepool({"image-unpause", "deb"}), 0);
    EXPECT_FALSE(exists("/nodepool/images/deb/pause"));
    EXPECT_EQ(out() + err(), "");
  }
}

TEST_F(ImageTest, an_unknown_image_cannot_be_paused_but_unpaused) {
  EXPECT_EQ(nodepool({"image-pause", "deb"}), 1);
  EXPECT_EQ(err(), "nodepool: image deb has no records: it has never been built or requested\n");
  EXPECT_EQ(nodepool({"image-unpause", "deb"}), 0);
  EXPECT_EQ(err(), "");
  put_build("deb", "b1", model::BuildState::ready);
  for (const char* command : {"image-pause", "image-unpause"}) {
    for (const char* name : {"deb/builds/b1", "", "..", "../x"}) {
      EXPECT_EQ(nodepool({command, name}), 1);
      EXPECT_THAT(err(), HasSubstr("is not a valid image name"));
    }
  }
  for (const char* id : {"../x-b1", "..-b1", "deb-../b1", "deb-"}) {
    EXPECT_EQ(nodepool({"dib-image-delete", id}), 1) << id;
    EXPECT_THAT(err(), HasSubstr("is not ")) << id;
  }
  EXPECT_EQ(nodepool({"image-delete", "--provider", "..", "--image", "deb", "--build-id", "b1",
                      "--upload-id", "1"}),
            1);
  EXPECT_EQ(err(), "nodepool: '..' is not a valid provider name\n");
}

TEST_F(ImageTest, image_delete_sets_the_state_of_a_build) {
  put(model::build_path("deb-12", "b1"),
      R"({"state": "ready", "state_time": 5.5, "formats": "raw", "later": [1]})");
  EXPECT_EQ(nodepool({"dib-image-delete", "deb-12-b1"}), 0);
  EXPECT_EQ(out() + err(), "");
  EXPECT_EQ(text_of(model::build_path("deb-12", "b1")),
            R"({"state": "deleting", "state_time": 1700000000.0, "formats": "raw", )"
            R"("username": "zuul", "python_path": "/usr/bin/python2", "shell_type": null, )"
            R"("later": [1]})");
}

constexpr int kWrites = 200;

// Writes the record again and again, with a number, until another process does.
async::Task<> keep_writing(coordination::Store& store, std::string path) {
  std::int32_t version = coordination::kAnyVersion;
  for (int number = 1; number <= kWrites; ++number) {
    const std::string text = R"({"state": "ready", "number": )" + std::to_string(number) + "}";
    const coordination::Stat stat = co_await store.set(path, text, version);
    version = stat.version;
  }
}

TEST_F(ImageTest, what_a_builder_writes_meanwhile_is_not_lost) {
  const std::string build = model::build_path("deb", "b1");
  const std::string upload = model::upload_path("deb", "b1", "sky", "0000000001");
  const std::vector<std::string> delete_build = {"dib-image-delete", "deb-b1"};
  const std::vector<std::string> delete_upload = {"image-delete", "--provider",  "sky",
                                                  "--image",      "deb",         "--build-id",
                                                  "b1",           "--upload-id", "0000000001"};
  for (const auto& [path, command] : {std::pair(build, delete_build), {upload, delete_upload}}) {
    put(path, R"({"state": "ready"})");
    scope_.spawn("writer", keep_writing(store_, path));
    EXPECT_EQ(nodepool(command), 0) << err();
    EXPECT_THAT(text_of(path), StartsWith(R"({"state": "deleting")"));
    EXPECT_THAT(text_of(path), HasSubstr(R"("number": )" + std::to_string(kWrites) + "}"));
  }
}

TEST_F(ImageTest, some_builds_are_not_deleted) {
  put_build("deb", "b1", model::BuildState::building);
  put(model::build_path("deb", "b2"), "");
  put(model::build_path("deb", "b3"), "{}");
  EXPECT_EQ(nodepool({"dib-image-delete", "deb-b1"}), 0);
  EXPECT_EQ(out(), "Cannot delete a build in progress\n");
  for (const char* id : {"deb-b2", "deb-b9", "bsd-b1"}) {
    EXPECT_EQ(nodepool({"dib-image-delete", id}), 0);
    EXPECT_EQ(out(), std::string("Build ") + id + " not found\n");
  }
  EXPECT_EQ(nodepool({"dib-image-delete", "deb"}), 1);
  EXPECT_EQ(err(), "nodepool: 'deb' is not a build ID as shown by dib-image-list\n");
  EXPECT_EQ(nodepool({"dib-image-delete", "deb-b3"}), 1);
  EXPECT_EQ(err(),
            "nodepool: the record /nodepool/images/deb/builds/b3 is invalid: unknown "
            "build state ''\n");
}

TEST_F(ImageTest, image_delete_sets_the_state_of_an_upload) {
  put_upload("deb", "b1", "sky", "0000000001", model::UploadState::ready);
  put_upload("deb", "b1", "sky", "0000000002", model::UploadState::uploading);
  const auto remove = [this](const std::string& upload) {
    return nodepool({"image-delete", "--provider", "sky", "--image", "deb", "--upload-id", upload,
                     "--build-id", "b1"});
  };
  EXPECT_EQ(remove("0000000001"), 0);
  EXPECT_EQ(out() + err(), "");
  EXPECT_THAT(
      text_of(model::upload_path("deb", "b1", "sky", "0000000001")),
      HasSubstr(R"({"state": "deleting", "state_time": 1700000000.0, "external_id": "a1b2")"));
  EXPECT_EQ(remove("0000000002"), 0);
  EXPECT_EQ(out(), "Cannot delete because image upload in progress\n");
  EXPECT_EQ(remove("0000000003"), 0);
  EXPECT_EQ(out(), "Image upload not found\n");
  EXPECT_EQ(nodepool({"image-delete", "--provider", "sky", "--image", "deb", "--build-id", "b1"}),
            2);
  EXPECT_THAT(err(), HasSubstr("--upload-id"));
}

TEST_F(ImageTest, a_command_ends_if_records_may_not_be_read) {
  put_build("deb", kBuild1, model::BuildState::ready);
  forbidden_ = "/nodepool/images/deb";
  for (const auto& [command, status] :
       {std::pair("status", 2), std::pair("dib-image-list", 1), std::pair("image-list", 1)}) {
    EXPECT_EQ(nodepool({command}), status) << command;
    EXPECT_THAT(err(), HasSubstr("nodepool: cannot read the records: "));
    EXPECT_THAT(err(), HasSubstr(forbidden_));
  }
}

}  // namespace
}  // namespace nodepool::cli
