// nodepool-builder as users run it, on every store: killed, started again, and beside another one.

#include "tests/integration/builder_store.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <thread>

namespace nodepool::integration {

using nlohmann::json;
using testing::SizeIs;

TEST_P(BuilderOnStore, killed_in_a_build_it_starts_anew_and_its_program_ends) {
  host_.hold();
  host_.start();
  host_.wait_for("dib-image-list", "building");
  host_.wait_for_half_an_image();
  const auto pid =
      static_cast<pid_t>(std::stol(test_support::read_file(host_.directory() / "pid")));
  host_.kill();
  host_.commands().wait_until("end of the program", [pid] { return ::kill(pid, 0) != 0; });
  EXPECT_THAT(host_.records("dib-image-list", "building"), SizeIs(1))
      << "no builder is running that could clean up";
  host_.end_hold();
  host_.start();
  host_.expect_good_end();
}

TEST_P(BuilderOnStore, killed_in_an_upload_it_makes_another_one_of_the_same_build) {
  host_.configure({.latency = "1000"});
  host_.start();
  host_.wait_for("image-list", "uploading");
  const std::string build = host_.records("dib-image-list").at(0).at("id");
  const std::string upload = host_.records("image-list").at(0).at("upload_id");
  host_.kill();
  host_.configure();
  host_.start();
  host_.expect_good_end();
  EXPECT_EQ(host_.records("dib-image-list").at(0).at("id"), build);
  EXPECT_NE(host_.records("image-list").at(0).at("upload_id"), upload);
}

TEST_P(BuilderOnStore, killed_at_any_moment_it_comes_to_a_good_end) {
  for (const int milliseconds : {20, 60, 100, 140, 180, 250}) {
    host_.start();
    // The moment is what this test is about; whatever it meets, the end is the same.
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    host_.kill();
  }
  host_.start();
  host_.expect_good_end();
}

TEST_P(BuilderOnStore, of_two_builders_one_builds_and_the_other_takes_over) {
  BuilderHost other(records_->keys());
  host_.hold();
  host_.start();
  host_.wait_for("dib-image-list", "building");
  host_.wait_for_half_an_image();
  other.start();
  other.wait_for_output("Serving 2 image(s)");
  EXPECT_THAT(other.records("dib-image-list"), SizeIs(1));
  EXPECT_THAT(other.files(), SizeIs(1));
  host_.kill();
  other.wait_for("dib-image-list", "ready");
  other.expect_good_end();
  host_.end_hold();
  host_.start();
  host_.commands().wait_until("no half image", [this] { return host_.files().size() == 1; });
  other.expect_good_end();
}

TEST_P(BuilderOnStore, commands_are_obeyed) {
  host_.start();
  host_.wait_for("image-list", "ready");
  const auto run = [this](const std::vector<std::string>& arguments) {
    const Completed done = host_.commands().nodepool(arguments);
    EXPECT_EQ(done.status, 0) << done.error;
    return done.output;
  };
  run({"image-build", "deb"});
  host_.wait_for("dib-image-list", "ready", 2);
  host_.wait_for("image-list", "ready", 2);

  run({"image-pause", "deb"});
  host_.commands().wait_until("the pause", [this] {
    const json rows = host_.records("image-status");
    return rows.at(0).at("paused") == true;
  });
  const json builds = host_.records("dib-image-list");
  run({"dib-image-delete", builds.at(0).at("id")});
  host_.commands().wait_until("one build", [this] {
    return host_.records("dib-image-list").size() == 1 && host_.records("image-list").size() == 1;
  });
  EXPECT_EQ(host_.records("dib-image-list").at(0).at("id"), builds.at(1).at("id"));
  host_.commands().wait_until("its files", [this] { return host_.files().size() == 4; });

  // Nothing is built before the pause ends.
  run({"image-build", "deb"});
  run({"dib-image-delete", builds.at(1).at("id")});
  host_.commands().wait_until("no build",
                              [this] { return host_.records("dib-image-list").empty(); });
  run({"image-unpause", "deb"});
  host_.expect_good_end();
}

}  // namespace nodepool::integration
