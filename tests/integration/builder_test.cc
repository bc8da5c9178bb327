// nodepool-builder as users run it: killed, stopped and started again.

#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "tests/integration/installation.h"

namespace nodepool::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

// A builder with one image that a shell script makes. The script waits while the file `hold` is
// there.
class BuilderProcess : public testing::Test {
 protected:
  BuilderProcess() {
    site_.directory().write("clouds.yaml", "clouds:\n  fake: {auth: {}}\n");
    const fs::path script = site_.directory().write("make-image", R"(#!/bin/sh
echo $$ > pid
echo half > $DIB_IMAGE_FILENAME.qcow2
echo making formats $NODEPOOL_IMAGE_FORMATS
while [ -e hold ]; do sleep 0.02; done
echo whole > $DIB_IMAGE_FILENAME.qcow2
)");
    fs::permissions(script, fs::perms::owner_all);
    configure("0");
  }
  ~BuilderProcess() override {
    if (!HasFailure() || !builder_) return;
    std::cerr << earlier_logs_ << builder_->standard_output() << builder_->standard_error();
  }

  // `latency`: seconds that each call of the cloud takes.
  void configure(const std::string& latency) {
    const std::string root = site_.directory().path();
    site_.directory().write("builder.yaml",
                            "store: sqlite://" + root + "/nodepool.db\nimages-dir: " + root +
                                "/images\nbuild-log-dir: " + root +
                                "/logs\n"
                                "diskimages:\n"
                                "  - {name: deb, builder: command, command: " +
                                root +
                                "/make-image}\n"
                                "providers:\n"
                                "  - name: fake-1\n    driver: fake\n    cloud: fake\n"
                                "    diskimages: [{name: deb}]\n    pools: []\n"
                                "    fake-cloud: {latency: " +
                                latency + "}\n");
    fs::copy_file(root + "/builder.yaml", root + "/nodepool.yaml",
                  fs::copy_options::overwrite_existing);
  }

  void hold() { site_.directory().write("hold", ""); }
  void let_go() { fs::remove(site_.directory().path() / "hold"); }

  void start(std::vector<std::string> options = {}) {
    std::vector<std::string> command{NODEPOOL_BINARIES "/nodepool-builder", "-d", "-c",
                                     site_.directory().path() / "builder.yaml"};
    command.insert(command.end(), options.begin(), options.end());
    builder_ = std::make_unique<Child>(
        command, test_support::ChildOptions{.working_directory = site_.directory().path()});
  }
  void kill() {
    builder_->signal(SIGKILL);
    builder_->wait();
    earlier_logs_ += builder_->standard_output() + "--- killed\n";
  }

  json records(const std::string& listing) const { return site_.json({listing}); }
  bool has(const std::string& listing, const std::string& state) const {
    for (const json& row : records(listing)) {
      if (row.at("state") == state) return true;
    }
    return false;
  }
  void wait_for(const std::string& listing, const std::string& state) {
    site_.wait_until(listing + " shows " + state,
                     [this, listing, state] { return has(listing, state); });
  }
  void wait_for_output(const std::string& text) {
    site_.wait_until("the builder says: " + text,
                     [this, &text] { return builder_->standard_output().contains(text); });
  }
  // Exactly one build and one upload, both ready, and the files of that build.
  void expect_good_end() {
    wait_for("image-list", "ready");
    site_.wait_until("one build and one upload", [this] {
      return records("dib-image-list").size() == 1 && records("image-list").size() == 1;
    });
    const std::string build = records("dib-image-list").at(0).at("id");
    EXPECT_EQ(test_support::read_file(images() / (build + ".qcow2")), "whole\n");
    site_.wait_until("no files of others", [this] { return files().size() == 4; });
  }

  fs::path images() const { return site_.directory().path() / "images"; }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(images())) {
      found.push_back(entry.path().filename());
    }
    return found;
  }

  Installation site_;
  std::unique_ptr<Child> builder_;
  std::string earlier_logs_;
};

TEST_F(BuilderProcess, killed_in_a_build_it_starts_anew_and_its_program_ends) {
  hold();
  start();
  wait_for("dib-image-list", "building");
  site_.wait_until("half an image", [this] { return files().size() == 2; });
  const std::string pid =
      test_support::read_file(site_.directory().path() / "pid").substr(0, std::string::npos);
  kill();
  site_.wait_until("end of the program",
                   [&pid] { return ::kill(static_cast<pid_t>(std::stol(pid)), 0) != 0; });
  EXPECT_TRUE(has("dib-image-list", "building")) << "nobody is there to clean up";
  let_go();
  start();
  expect_good_end();
}

TEST_F(BuilderProcess, killed_in_an_upload_it_makes_another_one_of_the_same_build) {
  configure("1000");
  start();
  wait_for("image-list", "uploading");
  const std::string build = records("dib-image-list").at(0).at("id");
  const std::string upload = records("image-list").at(0).at("upload_id");
  kill();
  configure("0");
  start();
  expect_good_end();
  EXPECT_EQ(records("dib-image-list").at(0).at("id"), build);
  EXPECT_NE(records("image-list").at(0).at("upload_id"), upload);
}

TEST_F(BuilderProcess, killed_at_any_moment_it_comes_to_a_good_end) {
  for (const int milliseconds : {20, 60, 100, 140, 180, 250}) {
    start();
    // The moment is what this test is about; whatever it meets, the end is the same.
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kill();
  }
  start();
  expect_good_end();
}

TEST_F(BuilderProcess, sigterm_ends_what_is_under_way) {
  hold();
  start();
  wait_for("dib-image-list", "building");
  site_.wait_until("half an image", [this] { return files().size() == 2; });
  builder_->signal(SIGTERM);
  EXPECT_EQ(builder_->wait(), 0);
  EXPECT_TRUE(has("dib-image-list", "failed"));
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(BuilderProcess, sigint_waits_for_what_is_under_way_unless_it_comes_twice) {
  hold();
  start();
  wait_for("dib-image-list", "building");
  builder_->signal(SIGINT);
  site_.wait_until("the signal's arrival",
                   [this] { return builder_->standard_output().contains("another signal ends"); });
  EXPECT_TRUE(builder_->running());
  let_go();
  EXPECT_EQ(builder_->wait(), 0);
  EXPECT_TRUE(has("dib-image-list", "ready"));

  hold();
  start();
  ASSERT_EQ(site_.nodepool({"image-build", "deb"}).status, 0);
  wait_for("dib-image-list", "building");
  builder_->signal(SIGINT);
  // Two of the same kind that arrive together are one.
  wait_for_output("another signal ends");
  builder_->signal(SIGINT);
  EXPECT_EQ(builder_->wait(), 0);
  EXPECT_TRUE(has("dib-image-list", "failed"));
}

TEST_F(BuilderProcess, a_build_can_be_followed) {
  start();
  wait_for("image-list", "ready");
  hold();
  const auto follower = site_.start_nodepool({"image-build", "deb", "--follow"});
  site_.wait_until("the build's output",
                   [&follower] { return follower->standard_output() == "making formats qcow2\n"; });
  EXPECT_TRUE(follower->running());
  let_go();
  EXPECT_EQ(follower->wait(), 0);
  EXPECT_EQ(follower->standard_output(), "making formats qcow2\nExit code: 0\n");
  EXPECT_THAT(follower->standard_error(), HasSubstr(" is ready\n"));
}

TEST_F(BuilderProcess, with_fake_it_makes_no_real_images) {
  start({"--fake", "--build-workers", "2", "--upload-workers", "1"});
  wait_for("image-list", "ready");
  EXPECT_FALSE(fs::exists(site_.directory().path() / "pid"));
}

TEST_F(BuilderProcess, without_a_directory_for_images_it_says_so) {
  site_.directory().write("builder.yaml", "store: sqlite://" + site_.directory().path().string() +
                                              "/nodepool.db\nproviders: []\n");
  start();
  EXPECT_EQ(builder_->wait(), 1);
  EXPECT_THAT(builder_->standard_output(), HasSubstr("`images-dir` is not set"));
}

}  // namespace
}  // namespace nodepool::integration
