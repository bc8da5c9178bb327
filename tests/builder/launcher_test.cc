// Tests a builder and a launcher on one store, with a fake cloud, from the build to the node.

#include "launcher/launcher.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "async/event_loop.h"
#include "async/live_tasks.h"
#include "builder/builder.h"
#include "config/load.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/tree.h"
#include "drivers/fake/fake_driver.h"
#include "model/image_paths.h"
#include "model/node.h"
#include "model/paths.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/virtual_time.h"

namespace nodepool::builder {
namespace {

using drivers::fake::FakeServer;
using testing::ElementsAre;
using testing::SizeIs;

class BuilderAndLauncherTest : public testing::Test {
 protected:
  BuilderAndLauncherTest() { configure("{name: deb}"); }

  // `diskimage`: as the provider lists it.
  void configure(const std::string& diskimage) {
    const std::string root = directory_.path();
    config::LoadOptions options;
    options.path = directory_.write(
        "nodepool.yaml", "images-dir: " + root + "/images\nbuild-log-dir: " + root +
                             "/logs\n"
                             "labels: [{name: small, min-ready: 1}]\n"
                             "diskimages: [{name: deb}]\n"
                             "providers:\n"
                             "  - name: fake-1\n"
                             "    driver: fake\n"
                             "    cloud: fake\n"
                             "    fake-cloud: {boot-time: 20}\n"
                             "    diskimages: [" +
                             diskimage +
                             "]\n"
                             "    pools:\n"
                             "      - name: main\n"
                             "        labels: [{name: small, diskimage: deb, min-ram: 1}]\n");
    options.drivers = drivers_.schemas();
    config_ = config::load(options).config;
  }
  ~BuilderAndLauncherTest() override {
    if (builder_) loop_.run(builder_->stop());
    loop_.run(launcher_.stop());
    loop_.run(builder_store_.close());
    loop_.run(launcher_store_.close());
  }

  static driver::DriverRegistry registry(config::Environment environment,
                                         std::shared_ptr<drivers::fake::FakeClouds> clouds) {
    std::vector<std::unique_ptr<driver::Driver>> drivers;
    drivers.push_back(
        std::make_unique<drivers::fake::FakeDriver>(std::move(environment), std::move(clouds)));
    return driver::DriverRegistry(std::move(drivers));
  }

  void start_builder() {
    NodePoolBuilder::Options options;
    options.hostname = "nb1";
    options.fqdn = "nb1.example";
    options.fake = true;
    builder_.emplace(runtime_, builder_store_, log_, drivers_, config_, options);
    loop_.run(builder_->start(config_));
  }

  void pass(async::Duration duration) {
    test_support::pass(clock_, duration, [this] { settle(); });
  }
  void settle() {
    const auto at_work = [](const async::LiveTask& task) {
      return std::ranges::any_of(task.waits,
                                 [](const auto& wait) { return wait.what.starts_with("thread:"); });
    };
    while (loop_.poll() || std::ranges::any_of(async::live_tasks(loop_.executor()), at_work)) {
      std::this_thread::yield();
    }
  }

  // The images of all machines.
  std::vector<std::string> images_in_use() {
    std::vector<std::string> images;
    for (const FakeServer& server : clouds_->cloud("fake-1")->servers(clock_.now())) {
      images.push_back(server.spec.image);
    }
    return images;
  }
  std::vector<driver::CloudImage> uploaded() {
    std::vector<driver::CloudImage> images = clouds_->cloud("fake-1")->images();
    std::erase_if(images, [](const driver::CloudImage& image) {
      return !image.metadata.contains("nodepool_build_id");
    });
    return images;
  }

  test_support::TemporaryDirectory directory_;
  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore builder_store_{server_, runtime_};
  coordination::MemoryStore launcher_store_{server_, runtime_};
  std::shared_ptr<drivers::fake::FakeClouds> clouds_ =
      std::make_shared<drivers::fake::FakeClouds>();
  driver::DriverRegistry drivers_ = registry(
      {{"OS_CLIENT_CONFIG_FILE", directory_.write("clouds.yaml", "clouds: {fake: {auth: {}}}")}},
      clouds_);
  std::shared_ptr<telemetry::Log> log_ =
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {});
  config::Config config_;
  launcher::Launcher launcher_{runtime_, launcher_store_, log_, drivers_,
                               launcher::Launcher::Options{"nl1", "nl1.example"}};
  std::optional<NodePoolBuilder> builder_;
};

TEST_F(BuilderAndLauncherTest, nodes_are_made_from_the_newest_upload) {
  loop_.run(launcher_.start(config_));
  pass(std::chrono::minutes(2));
  EXPECT_THAT(images_in_use(), SizeIs(0)) << "there is no image yet";

  start_builder();
  pass(std::chrono::minutes(2));
  ASSERT_THAT(uploaded(), SizeIs(1));
  const std::string first = uploaded().front().id;
  EXPECT_THAT(images_in_use(), ElementsAre(first));

  loop_.run(coordination::ensure_path(builder_store_, model::build_request_path("deb")));
  pass(std::chrono::minutes(1));
  ASSERT_THAT(uploaded(), SizeIs(2));
  const std::string node =
      loop_.run(launcher_store_.children(std::string(model::kNodesRoot))).at(0);
  model::Node used =
      model::parse_node(node, loop_.run(launcher_store_.get(model::node_path(node))));
  used.set_state(model::NodeState::used, clock_.wall_seconds());
  loop_.run(
      launcher_store_.set(model::node_path(node), to_record(used), coordination::kAnyVersion));
  pass(std::chrono::minutes(3));
  ASSERT_THAT(images_in_use(), SizeIs(1));
  EXPECT_NE(images_in_use().front(), first) << "the next node has the newer image";
}

TEST_F(BuilderAndLauncherTest, an_upload_is_validated_by_a_node_that_serves_no_request) {
  configure("{name: deb, validate: {label: small}}");
  clouds_->cloud("fake-1")->fail_next(drivers::fake::CloudCall::create,
                                      {.kind = driver::CloudError::Kind::quota});
  loop_.run(launcher_.start(config_));
  start_builder();
  pass(std::chrono::seconds(5));
  ASSERT_THAT(uploaded(), SizeIs(1));
  EXPECT_THAT(images_in_use(), SizeIs(0)) << "there was no room";

  pass(std::chrono::seconds(15));
  const std::string image = uploaded().front().id;
  EXPECT_THAT(images_in_use(), ElementsAre(image));
  const auto nodes = [this] {
    return loop_.run(launcher_store_.children(std::string(model::kNodesRoot)));
  };
  ASSERT_THAT(nodes(), SizeIs(1));
  const std::string validating = nodes().front();

  pass(std::chrono::minutes(1));
  EXPECT_THAT(images_in_use(), ElementsAre(image)) << "of the node that the label wants to have";
  ASSERT_THAT(nodes(), SizeIs(1));
  EXPECT_NE(nodes().front(), validating);
}

}  // namespace
}  // namespace nodepool::builder
