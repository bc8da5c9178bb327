#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "builder/builder.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "model/image_build.h"
#include "model/image_upload.h"
#include "tests/builder/doubles.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::builder {

// An entry of `diskimages` with a build every hour.
inline constexpr const char* kDeb = "  - {name: deb, username: ci, rebuild-age: 3600}\n";
// A provider that lists it.
inline constexpr const char* kSky =
    "  - {name: sky1, driver: sky, image-format: qcow2, diskimages: [{name: deb}]}\n";

// Builders on an in-memory store, in virtual time, with controllable builds (workshop) and clouds
// (sky). Each has its own images-dir, which survives its death.
class BuilderFixture : public testing::Test {
 protected:
  BuilderFixture();
  ~BuilderFixture() override;

  // The text of nodepool.yaml: `images` are entries of `diskimages`, `providers` of `providers`.
  static std::string yaml(const std::string& images, const std::string& providers);

  // Starts the builder `name` and runs until it is idle.
  void start(const std::string& yaml, const std::string& name = "nb1");
  // The same with kDeb and kSky: a ready build and its ready upload.
  void start_with_one() { start(yaml(kDeb, kSky)); }
  // Reloads the configuration. Advances the time if necessary.
  void reconfigure(const std::string& yaml);
  void stop(const std::string& name = "nb1");
  // Begins a graceful stop. Returns whether it is complete.
  bool finish(const std::string& name = "nb1");
  bool has_finished(const std::string& name = "nb1") const;
  // Simulates a killed process: its session ends, its tasks are dropped.
  void kill(const std::string& name = "nb1");
  coordination::MemoryStore& store_of(const std::string& name = "nb1");

  std::vector<std::string> problems(const std::string& name = "nb1") const;

  // Its metrics for Prometheus.
  std::string scraped(const std::string& name = "nb1");

  // Runs all work without advancing the time.
  void settle();
  // Advances the time from timer to timer.
  void pass(async::Duration duration);

  // Actions of operators.
  void put(const std::string& path, const std::string& text = "");
  void remove(const std::string& path);
  bool exists(const std::string& path);

  // The records, oldest first.
  std::vector<model::ImageBuild> builds(const std::string& image = "deb");
  std::vector<model::ImageBuild> builds(model::BuildState state, const std::string& image = "deb");
  std::vector<model::ImageUpload> uploads(const std::string& image = "deb");
  std::vector<model::ImageUpload> uploads(model::UploadState state,
                                          const std::string& image = "deb");
  void write(const model::ImageBuild& build);
  void write(const model::ImageUpload& upload);

  // The names of the files in a builder's images-dir, without builder_id.txt.
  std::vector<std::string> files(const std::string& name = "nb1") const;

  struct Process;

  test_support::TemporaryDirectory directory_;
  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  std::unique_ptr<coordination::MemoryStore> people_;
  GracefulStop graceful_stop_;
  std::unique_ptr<model::ImageTable> images_;  // not followed: records are read past it
  ImageRecords records_;
  std::shared_ptr<Sky> sky_ = std::make_shared<Sky>();
  std::shared_ptr<Workshop> workshop_ = std::make_shared<Workshop>();
  driver::DriverRegistry drivers_;
  bool real_qemu_img_ = false;                             // of builders started from now on
  std::size_t upload_workers_ = 4;                         // the same
  Environment environment_ = {{"PATH", "/usr/bin:/bin"}};  // of the programs they run; the same
  bool waits_for_programs_ = true;                         // settle() waits for programs
  struct Refusal {
    coordination::StoreError::Kind kind;
    std::string root = "/";  // of the paths
  };
  std::optional<Refusal> refusal_;    // of writes of the builders
  std::vector<std::string> log_;      // warnings and errors
  std::vector<std::string> news_;     // other log messages
  std::vector<std::string> figures_;  // statsd lines
  std::map<std::string, std::unique_ptr<Process>> processes_;
};

}  // namespace nodepool::builder
