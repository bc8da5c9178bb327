// Tests the Gearman interface of the builder with a real server.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "builder/gearman_frontend.h"
#include "model/image_paths.h"
#include "model/node.h"
#include "tests/builder/builder_fixture.h"
#include "tests/support/gearman_client.h"
#include "tests/support/gearmand.h"
#include "tests/support/patience.h"

namespace nodepool::builder {
namespace {

using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;
using test_support::GearmanClient;
using test_support::Gearmand;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kClientsId[] = "0123456789abcdef0123456789abcdef";
constexpr char kClientsDeb[] = "  - {name: deb}\n";
constexpr char kClientsSky[] = "  - {name: sky, driver: sky, diskimages: [{name: deb}]}\n";

// Builders with two build workers and four upload workers, so with two, four and one connections
// for builds, uploads and deletions.
constexpr std::size_t kConnections = 7;
int connections_for(const std::string& function) {
  if (function.starts_with("image-build:")) return 2;
  return function.starts_with("image-upload:") ? 4 : 1;
}

class GearmanFrontendTest : public BuilderFixture {
 protected:
  std::string yaml(const std::string& images = kClientsDeb,
                   const std::string& providers = kClientsSky) const {
    return served_at({&gearmand_}, BuilderFixture::yaml(images, providers));
  }
  static std::string served_at(const std::vector<const Gearmand*>& servers,
                               const std::string& rest = BuilderFixture::yaml(kClientsDeb,
                                                                              kClientsSky)) {
    std::string text = "gearman-servers:\n";
    for (const Gearmand* server : servers) {
      text += "  - {host: 127.0.0.1, port: " + std::to_string(server->port()) + "}\n";
    }
    return text + rest;
  }

  // Runs the builders until the condition is true, without advancing their time.
  template <typename Condition>
  void until(const std::string& what, Condition condition) {
    const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << what;
      settle();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  void until_offered(const std::string& function, std::optional<int> connections = {}) {
    until_offered_at(gearmand_, function, connections);
  }
  void until_offered_at(const Gearmand& server, const std::string& function,
                        std::optional<int> connections = {}) {
    const int wanted = connections.value_or(connections_for(function));
    until(function, [&] { return server.workers(function).value_or(0) == wanted; });
  }
  // Starts a build by a client of the server. It takes until the time is advanced.
  void begin_build_for(GearmanClient& client) {
    workshop_->build_time = std::chrono::minutes(5);
    client.submit("image-build:deb", "", kClientsId);
    until("the build", [&] { return builds(BuildState::building).size() == 1; });
  }

  // The response to a client.
  std::string result(const std::string& function, const std::string& payload) {
    GearmanClient client(gearmand_.port());
    client.submit(function, "", payload);
    until(function + " " + payload, [&] {
      return !client.seen("WORK_COMPLETE").empty() || !client.seen("WORK_FAIL").empty();
    });
    if (!client.seen("WORK_COMPLETE").empty()) return client.seen("WORK_COMPLETE").front();
    return "failed: " + client.seen("WORK_WARNING").front();
  }

  // The newest ready build.
  std::string ready_build(const std::string& image = "deb") {
    return builds(BuildState::ready, image).back().id;
  }

  Gearmand gearmand_;
};

TEST_F(GearmanFrontendTest, offers_what_there_is_and_takes_it_back) {
  start(yaml());
  const std::string id = ready_build();
  until_offered("image-build:deb");
  until_offered("image-upload:" + id);
  until_offered("image-delete:" + id);

  ImageBuild build = builds().back();
  build.set_state(BuildState::deleting, clock_.wall_seconds());
  write(build);
  pass(std::chrono::minutes(1));  // the drain time of functions
  until_offered("image-upload:" + id, 0);
  until_offered("image-delete:" + id, 0);

  reconfigure(yaml("  - {name: deb, pause: true}\n  - {name: deb-2, formats: [raw]}\n"));
  until_offered("image-build:deb-2");
  until_offered("image-build:deb", 0);
}

TEST_F(GearmanFrontendTest, builds_with_the_id_that_it_is_given) {
  start(yaml());
  until_offered("image-build:deb");
  workshop_->build_time = std::chrono::minutes(5);
  GearmanClient client(gearmand_.port());
  client.submit("image-build:deb", "", kClientsId);
  until("a status", [&] { return !client.seen("WORK_STATUS").empty() && builds().size() == 2; });
  until("the build", [&] { return client.seen("WORK_STATUS").back() == "1/2"; });
  EXPECT_THAT(builds(BuildState::building),
              ElementsAre(testing::Field(&ImageBuild::id, kClientsId)));

  pass(std::chrono::minutes(5));
  until("the end", [&] { return !client.seen("WORK_COMPLETE").empty(); });
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre(kClientsId));
  const auto steps = client.seen("WORK_STATUS");
  EXPECT_EQ(steps.back(), "2/2");
  EXPECT_EQ(std::ranges::adjacent_find(steps), steps.end()) << "nothing is said twice";
  EXPECT_EQ(ready_build(), kClientsId);
  EXPECT_THAT(files(), Contains("deb-" + std::string(kClientsId) + ".qcow2"));
  until_offered(std::string("image-upload:") + kClientsId);
  // Like any other build.
  until("its upload", [&] { return uploads(UploadState::ready).size() == 2; });
  EXPECT_EQ(result("image-build:deb", kClientsId), kClientsId)
      << "a server asks again for what it has lost";
  EXPECT_THAT(workshop_->built, SizeIs(2));
}

TEST_F(GearmanFrontendTest, takes_ids_as_people_write_them) {
  EXPECT_EQ(requested_build_id("01234567-89AB-cdef-0123-456789abcdef\n"), kClientsId);
  EXPECT_EQ(requested_build_id(std::string(R"({"image-id": ")") + kClientsId + R"("})"),
            kClientsId);
  EXPECT_EQ(requested_build_id(R"({"image": "deb"})"), "");
  EXPECT_EQ(requested_build_id(" "), "");
  EXPECT_EQ(requested_provider(R"({"provider": "sky"})"), "sky");
  EXPECT_EQ(requested_provider(" sky "), "sky");
  for (const char* payload :
       {"17", "{", R"({"image-id": 5})", "../../etc", "0123456789abcdef0123456789abcdeg"}) {
    EXPECT_THROW(requested_build_id(payload), std::runtime_error) << payload;
  }
  EXPECT_THROW(requested_provider("{}"), std::runtime_error);
}

TEST_F(GearmanFrontendTest, chooses_an_id_itself) {
  start(yaml());
  until_offered("image-build:deb");
  const std::string id = result("image-build:deb", "");
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(ready_build(), id);
}

TEST_F(GearmanFrontendTest, says_why_there_is_no_build) {
  start(yaml());
  until_offered("image-build:deb");
  EXPECT_THAT(result("image-build:deb", "17"), HasSubstr("failed: the image id must be"));
  workshop_->exit_codes["deb"] = 3;
  EXPECT_THAT(result("image-build:deb", kClientsId), HasSubstr("exit code 3"));
  ImageBuild old;
  old.image = "deb";
  old.id = kClientsId;
  old.set_state(BuildState::deleting, clock_.wall_seconds());
  sky_->cannot_delete = true;
  ImageUpload upload;
  upload.image = old.image;
  upload.build_id = old.id;
  upload.provider = "sky";
  upload.id = "0000000001";
  upload.external_id = model::json_string("image-1");
  upload.set_state(UploadState::deleting, clock_.wall_seconds());
  write(upload);
  write(old);
  EXPECT_THAT(result("image-build:deb", kClientsId), HasSubstr("already exists"));
  put(model::image_pause_path("deb"));
  EXPECT_EQ(result("image-build:deb", ""), "failed: image deb is paused");
}

TEST_F(GearmanFrontendTest, uploads_and_says_the_clouds_id) {
  start(yaml());
  const std::string id = ready_build();
  until("the builder's own upload", [&] { return uploads(UploadState::ready).size() == 1; });
  until_offered("image-upload:" + id);
  EXPECT_EQ(result("image-upload:" + id, "sky"), "image-1");
  EXPECT_EQ(sky_->uploads, 1);

  // A deleted upload is repeated, and an older build is uploaded on request.
  put(model::image_pause_path("deb"));
  reconfigure(yaml(kClientsDeb, std::string(kClientsSky) +
                                    "  - {name: sea, driver: sky, diskimages: [{name: deb}]}\n"));
  EXPECT_EQ(result("image-upload:" + id, R"({"provider": "sea"})"), "image-2");
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2));
}

TEST_F(GearmanFrontendTest, uploads_an_older_build) {
  start(yaml());
  const std::string older = ready_build();
  pass(std::chrono::minutes(1));
  until_offered("image-build:deb");
  sky_->broken.insert("sky");
  const std::string newer = result("image-build:deb", kClientsId);
  until("an upload that fails", [&] {
    pass(std::chrono::seconds(1));
    return sky_->uploads >= 2;
  });
  until_offered("image-upload:" + newer);
  EXPECT_THAT(result("image-upload:" + newer, "sky"), HasSubstr("the sky is cloudy"));
  sky_->broken.clear();
  EXPECT_EQ(result("image-upload:" + newer, "sky"), "image-" + std::to_string(sky_->uploads));
  EXPECT_EQ(result("image-upload:" + older, "sky"), "image-1");
}

TEST_F(GearmanFrontendTest, says_why_there_is_no_upload) {
  start(
      yaml(kClientsDeb, std::string(kClientsSky) +
                            "  - {name: sea, driver: sky, diskimages: [{name: deb, pause: true}]}\n"
                            "  - {name: land, driver: sky, diskimages: []}\n"));
  const std::string id = ready_build();
  const std::string upload = "image-upload:" + id;
  until_offered(upload);
  EXPECT_EQ(result(upload, "void"), "failed: provider void not found, or without image support");
  EXPECT_EQ(result(upload, "land"), "failed: provider land does not list image deb");
  EXPECT_EQ(result(upload, "sea"), "failed: image deb is paused in provider sea");
  EXPECT_EQ(result(upload, ""), "failed: the payload has no provider");
}

// An older build, which the builder does not upload without a request.
TEST_F(GearmanFrontendTest, converts_what_an_upload_needs_and_reports_progress) {
  const std::string raw =
      "  - {name: sky, driver: sky, image-format: raw, diskimages: [{name: deb}]}\n";
  start(yaml(kClientsDeb, raw));
  const std::string older = ready_build();
  pass(std::chrono::minutes(1));
  until_offered("image-build:deb");
  EXPECT_EQ(result("image-build:deb", kClientsId), kClientsId);
  until("both uploads", [&] { return uploads(UploadState::ready).size() == 2; });
  reconfigure(yaml(kClientsDeb, raw + "  - {name: sea, driver: sky, image-format: vmdk,\n"
                                      "     diskimages: [{name: deb}]}\n"));
  until("the builder's own upload", [&] { return uploads(UploadState::ready).size() == 3; });

  workshop_->conversion_time = std::chrono::minutes(1);
  sky_->upload_time = std::chrono::minutes(2);
  GearmanClient client(gearmand_.port());
  client.submit("image-upload:" + older, "", "sea");
  const auto last_status = [&] {
    const std::vector<std::string> seen = client.seen("WORK_STATUS");
    return seen.empty() ? std::string() : seen.back();
  };
  until("the conversion", [&] { return last_status() == "1/2"; });
  until("qemu-img", [&] { return workshop_->converted.size() == 2; });
  pass(std::chrono::minutes(2));
  until("half of it", [&] { return last_status() == "50/100"; });
  pass(std::chrono::minutes(1));
  until("the end", [&] { return !client.seen("WORK_COMPLETE").empty(); });
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre("image-4"));
  EXPECT_EQ(last_status(), "2/2");
  EXPECT_THAT(sky_->images.at("image-4").file.path, HasSubstr(older + ".vmdk"));
  EXPECT_THAT(workshop_->built, SizeIs(2));
}

TEST_F(GearmanFrontendTest, many_build_jobs_do_not_block_uploads_and_deletions) {
  start(yaml());
  const std::string id = ready_build();
  until_offered("image-upload:" + id);
  workshop_->build_time = std::chrono::hours(1);
  GearmanClient others(gearmand_.port());
  for (int i = 0; i < 20; ++i) others.submit("image-build:deb", "job-" + std::to_string(i), "");
  until("the build", [&] { return builds(BuildState::building).size() == 1; });
  EXPECT_EQ(result("image-upload:" + id, "sky"), "image-1");
  EXPECT_EQ(result("image-delete:" + id, ""), "");
}

TEST_F(GearmanFrontendTest, many_upload_jobs_do_not_block_builds) {
  start(yaml());
  const std::string id = ready_build();
  until_offered("image-upload:" + id);
  GearmanClient client(gearmand_.port());
  client.submit("image-upload:" + id, "", std::string(5'000'000, 'p'));
  constexpr std::size_t kJobs = 2000;
  for (std::size_t i = 0; i < kJobs; ++i) {
    client.submit("image-upload:" + id, "job-" + std::to_string(i), i % 2 == 0 ? "sky" : "nowhere");
  }
  EXPECT_EQ(result("image-build:deb", kClientsId), kClientsId);
  until("the ends", [&] {
    return client.seen("WORK_COMPLETE").size() == kJobs / 2 &&
           client.seen("WORK_FAIL").size() == kJobs / 2 + 1;
  });
  until_offered("image-upload:" + id);
}

TEST_F(GearmanFrontendTest, an_upload_of_a_deleted_build_fails_and_its_deletion_succeeds) {
  start(yaml());
  const std::string id = ready_build();
  until("the upload", [&] { return uploads(UploadState::ready).size() == 1; });
  until_offered("image-upload:" + id);
  ImageBuild build = builds().front();
  build.set_state(BuildState::deleting, clock_.wall_seconds());
  put(model::image_pause_path("deb"));
  write(build);
  ASSERT_THAT(builds(), IsEmpty());
  EXPECT_EQ(result("image-upload:" + id, "sky"),
            "failed: image " + id + " not found on this builder");
  EXPECT_EQ(result("image-delete:" + id, ""), "");
  pass(std::chrono::minutes(1));
  until_offered("image-upload:" + id, 0);
  until_offered("image-delete:" + id, 0);
}

TEST_F(GearmanFrontendTest, says_what_it_cannot_convert) {
  start(yaml());
  const std::string id = ready_build();
  put(model::image_pause_path("deb"));
  reconfigure(yaml(kClientsDeb, std::string(kClientsSky) +
                                    "  - {name: sea, driver: sky, image-format: tgz,\n"
                                    "     diskimages: [{name: deb}]}\n"));
  until_offered("image-upload:" + id);
  EXPECT_EQ(
      result("image-upload:" + id, "sea"),
      "failed: image " + id +
          " has no tgz file, which provider sea requires, and none can be converted from: qcow2");
  workshop_->conversion_exit_code = 1;
  reconfigure(yaml(kClientsDeb, std::string(kClientsSky) +
                                    "  - {name: sea, driver: sky, image-format: vmdk,\n"
                                    "     diskimages: [{name: deb}]}\n"));
  EXPECT_THAT(result("image-upload:" + id, "sea"), HasSubstr("with qemu-img failed"));
}

TEST_F(GearmanFrontendTest, deletes_the_files_and_records_without_uploads) {
  start(yaml());
  const std::string id = ready_build();
  until("the upload", [&] { return uploads(UploadState::ready).size() == 1; });
  until_offered("image-delete:" + id);
  EXPECT_EQ(result("image-delete:" + id, ""), "");
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1)) << "nodes are made from it";
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));
  pass(std::chrono::minutes(1));  // the drain time of functions
  until_offered("image-delete:" + id, 0);
  until_offered("image-upload:" + id, 0);

  reconfigure(yaml("  - {name: deb}\n  - {name: raw, formats: [raw]}\n"));
  until("another image", [&] { return builds(BuildState::ready, "raw").size() == 1; });
  const std::string other = ready_build("raw");
  put(model::image_pause_path("raw"));
  until_offered("image-delete:" + other);
  EXPECT_EQ(result("image-delete:" + other, ""), "");
  until("its record is gone", [&] { return builds("raw").empty(); });
  EXPECT_THAT(files(), IsEmpty());
}

// A client that has not received the result repeats its job.
TEST_F(GearmanFrontendTest, a_repeated_deletion_succeeds) {
  start(yaml());
  const std::string id = ready_build();
  until("the upload", [&] { return uploads(UploadState::ready).size() == 1; });
  until_offered("image-delete:" + id);
  EXPECT_EQ(result("image-delete:" + id, ""), "");
  EXPECT_EQ(result("image-delete:" + id, ""), "");
  EXPECT_THAT(builds(BuildState::ready), SizeIs(1));

  sky_->cannot_delete = true;
  put(model::image_pause_path("deb"));
  ImageBuild build = builds().front();
  build.set_state(BuildState::deleting, clock_.wall_seconds());
  write(build);
  ASSERT_THAT(builds(BuildState::deleting), SizeIs(1)) << "its upload is still in the cloud";
  EXPECT_EQ(result("image-delete:" + id, ""), "");
  EXPECT_THAT(builds(BuildState::deleting), SizeIs(1));
}

// The files are left from an attempt with the same id.
TEST_F(GearmanFrontendTest, does_not_upload_files_of_a_build_that_was_made_elsewhere) {
  std::filesystem::create_directories(directory_.path() / "nb1");
  directory_.write("nb1/deb-" + std::string(kClientsId) + ".qcow2", "half");
  ImageBuild elsewhere;
  elsewhere.image = "deb";
  elsewhere.id = kClientsId;
  elsewhere.builder_id = "nb2";
  elsewhere.formats = {"qcow2"};
  elsewhere.set_state(BuildState::ready, clock_.wall_seconds());
  write(elsewhere);
  start(yaml());
  until_offered("image-build:deb");
  EXPECT_FALSE(gearmand_.workers(std::string("image-upload:") + kClientsId));
  EXPECT_EQ(sky_->uploads, 0);
}

// Builds of other images have the same number.
TEST_F(GearmanFrontendTest, does_not_offer_builds_with_a_sequence_number) {
  std::filesystem::create_directories(directory_.path() / "nb1");
  directory_.write("nb1/builder_id.txt", "old");
  directory_.write("nb1/deb-0000000123.qcow2", "x");
  ImageBuild numbered;
  numbered.image = "deb";
  numbered.id = "0000000123";
  numbered.builder_id = "old";
  numbered.formats = {"qcow2"};
  numbered.set_state(BuildState::ready, clock_.wall_seconds() - 100'000);  // needs a new build
  write(numbered);
  start(yaml());
  ASSERT_THAT(builds(BuildState::ready), SizeIs(2));
  until_offered("image-upload:" + ready_build());
  EXPECT_FALSE(gearmand_.workers("image-delete:" + numbered.id));
  EXPECT_FALSE(gearmand_.workers("image-upload:" + numbered.id));
}

TEST_F(GearmanFrontendTest, does_not_delete_what_is_being_uploaded) {
  sky_->upload_time = std::chrono::minutes(1);
  start(yaml());
  const std::string id = ready_build();
  until("the upload", [&] { return uploads(UploadState::uploading).size() == 1; });
  until_offered("image-delete:" + id);
  EXPECT_THAT(result("image-delete:" + id, ""), HasSubstr("is being uploaded to sky"));
  EXPECT_THAT(files(), testing::Not(IsEmpty()));
}

TEST_F(GearmanFrontendTest, builders_share_a_server) {
  const std::string images = "  - {name: deb}\n  - {name: raw}\n";
  start(yaml(images, kClientsSky), "nb1");
  start(yaml(images, "  - {name: sea, driver: sky, diskimages: [{name: raw}]}\n"), "nb2");
  until("both builds", [&] {
    return builds(BuildState::ready, "deb").size() == 1 &&
           builds(BuildState::ready, "raw").size() == 1;
  });
  until_offered("image-build:deb");
  until_offered("image-build:raw");
  EXPECT_EQ(result("image-build:raw", kClientsId), kClientsId);
  EXPECT_EQ(builds(BuildState::ready, "raw").back().builder, "nb2.example");
  const std::string deb = ready_build("deb");
  until_offered("image-upload:" + deb);
  EXPECT_EQ(result("image-upload:" + deb, "sky"), "image-1");
  stop("nb2");
  until_offered("image-build:raw", 0);
  until_offered("image-build:deb");
}

TEST_F(GearmanFrontendTest, outlives_the_server) {
  start(yaml());
  const std::string id = ready_build();
  until_offered("image-upload:" + id);
  gearmand_.kill();
  gearmand_.start();
  until_offered("image-upload:" + id);
  until_offered("image-build:deb");
  EXPECT_EQ(result("image-build:deb", kClientsId), kClientsId);
}

TEST_F(GearmanFrontendTest, another_builder_takes_over_the_build_of_a_stopped_one) {
  start(yaml(), "nb1");
  workshop_->build_time = std::chrono::hours(1);
  until_offered("image-build:deb");
  GearmanClient client(gearmand_.port());
  client.submit("image-build:deb", "", "");
  until("the build", [&] { return builds(BuildState::building).size() == 1; });
  stop("nb1");
  EXPECT_THAT(client.seen("WORK_FAIL"), IsEmpty());
  workshop_->build_time = {};
  start(yaml(), "nb2");
  until("the end", [&] { return !client.seen("WORK_COMPLETE").empty(); });
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre(ready_build()));
}

TEST_F(GearmanFrontendTest, a_reload_adds_servers_and_disturbs_no_other) {
  start(BuilderFixture::yaml(kClientsDeb, kClientsSky));
  const std::string id = ready_build();
  EXPECT_THAT(gearmand_.peers(), IsEmpty());
  reconfigure(yaml());
  until_offered("image-upload:" + id);
  EXPECT_EQ(result("image-upload:" + id, "sky"), "image-1");

  until("connections of the builder only",
        [&] { return gearmand_.peers().size() == kConnections; });
  const auto connections = gearmand_.peers();
  const Gearmand other;
  reconfigure(served_at({&other, &gearmand_}));
  until_offered_at(other, "image-upload:" + id);
  until_offered_at(other, "image-build:deb");
  reconfigure(served_at({&gearmand_, &other}));
  until_offered_at(other, "image-build:deb");
  EXPECT_EQ(gearmand_.peers(), connections);
}

TEST_F(GearmanFrontendTest, a_reload_takes_servers_away_and_disturbs_no_other) {
  const Gearmand other;
  start(served_at({&gearmand_, &other}));
  until_offered("image-build:deb");
  until_offered_at(other, "image-build:deb");
  const auto connections = other.peers();
  reconfigure(served_at({&other}));
  until("the end of all connections", [&] { return gearmand_.peers().empty(); });
  until_offered("image-build:deb", 0);
  EXPECT_EQ(other.peers(), connections);
  reconfigure(BuilderFixture::yaml(kClientsDeb, kClientsSky));
  until("the end of all connections", [&] { return other.peers().empty(); });
  EXPECT_THAT(log_, IsEmpty()) << "the server is reachable";
  reconfigure(yaml("  - {name: deb-2, formats: [raw]}\n"));
  until_offered("image-build:deb-2");
  until_offered("image-build:deb", 0);
}

TEST_F(GearmanFrontendTest, a_job_of_a_removed_server_is_still_done) {
  const Gearmand other;
  start(served_at({&gearmand_, &other}));
  until_offered("image-build:deb");
  until_offered_at(other, "image-build:deb");
  GearmanClient client(gearmand_.port());
  begin_build_for(client);
  reconfigure(served_at({&other}));
  // The connection with the job sends the change after the job.
  until_offered("image-build:deb", 1);
  client.submit("image-build:deb", "another", "");
  pass(std::chrono::minutes(5));
  until("the end", [&] { return !client.seen("WORK_COMPLETE").empty(); });
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre(kClientsId));
  until("the client alone", [&] { return gearmand_.peers().size() == 1; });
  EXPECT_EQ(gearmand_.jobs("image-build:deb"), 1) << "the other one waits for a worker";
  EXPECT_THAT(client.seen("WORK_FAIL"), IsEmpty());
  reconfigure(served_at({&gearmand_}));
  until("the other one", [&] {
    pass(std::chrono::minutes(5));
    return client.seen("WORK_COMPLETE").size() == 2;
  });
}

TEST_F(GearmanFrontendTest, a_stopping_builder_also_returns_jobs_of_a_removed_server) {
  start(yaml(), "nb1");
  until_offered("image-build:deb");
  GearmanClient client(gearmand_.port());
  begin_build_for(client);
  reconfigure(BuilderFixture::yaml(kClientsDeb, kClientsSky));
  stop("nb1");
  EXPECT_THAT(client.seen("WORK_FAIL"), IsEmpty());
  EXPECT_EQ(gearmand_.jobs("image-build:deb"), 1);
}

}  // namespace
}  // namespace nodepool::builder
