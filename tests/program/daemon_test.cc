#include "program/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <boost/asio/post.hpp>

#include "coordination/error.h"
#include "tests/program/notify_socket.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/patience.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::program {
namespace {

using coordination::StoreError;
using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A daemon that records its calls, and ends itself once it serves.
class TestDaemon final : public Daemon {
 public:
  TestDaemon(const Options& options, std::shared_ptr<telemetry::Log> log,
             std::vector<StoreError> failures)
      : Daemon(options, std::move(log), "test"), failures_(std::move(failures)) {}

  std::vector<std::string> calls_;
  std::vector<std::int64_t> sessions_;
  std::vector<std::string> early_problems_;
  std::function<void()> block_;          // is called on the loop
  std::function<Task<>()> begin_;        // in the start
  std::function<Task<>()> serving_;      // runs after it, and ends the daemon
  bool ends_when_reconfigured_ = false;  // not by the start

  using Daemon::enable_registry;
  using Daemon::health;
  using Daemon::log;
  using Daemon::metrics;
  using Daemon::registry;
  using Daemon::runtime;
  using Daemon::state;
  using Daemon::store;

 private:
  const driver::DriverRegistry& drivers() const override { return drivers_; }

  Task<> start(config::Config /*config*/) override {
    calls_.emplace_back("start");
    sessions_.push_back(store().session_id());
    co_await store().exists("/");
    if (block_) block_();
    if (begin_) co_await begin_();
    if (!failures_.empty()) {
      const StoreError failure = failures_.front();
      failures_.erase(failures_.begin());
      throw StoreError(failure);
    }
    if (serving_) {
      tasks_.spawn("serving", serve_then_end());
    } else if (!ends_when_reconfigured_) {
      ::raise(SIGTERM);
    }
  }
  Task<> serve_then_end() {
    co_await serving_();
    ::raise(SIGTERM);
  }
  Task<> reconfigure(config::Config /*config*/) override {
    calls_.emplace_back("reconfigure");
    if (ends_when_reconfigured_) ::raise(SIGTERM);
    co_return;
  }
  std::vector<std::string> early_problems() const override { return early_problems_; }
  Task<> stop() override {
    calls_.emplace_back("stop");
    co_await tasks_.stop();
    co_await store().exists("/");
  }

  driver::DriverRegistry drivers_{{}};
  std::vector<StoreError> failures_;
  async::TaskScope tasks_{runtime(), [](const std::string&, const std::string&) {}};
};

class DaemonTest : public testing::Test {
 protected:
  std::unique_ptr<TestDaemon> daemon(std::vector<StoreError> failures) {
    Options options;
    options.config = directory_.write("nodepool.yaml",
                                      "store: sqlite://" + directory_.path().string() + "/db\n");
    options.foreground = true;
    auto log = telemetry::Log::to_consumer(
        [this](telemetry::LogLevel level, std::string_view, std::string_view message) {
          if (level >= telemetry::LogLevel::warning) log_.emplace_back(message);
        });
    return std::make_unique<TestDaemon>(options, std::move(log), std::move(failures));
  }

  test_support::TemporaryDirectory directory_;
  std::vector<std::string> log_;
  StartReport report_;
};

TEST_F(DaemonTest, a_store_that_goes_away_during_the_start_does_not_end_it) {
  const auto daemon =
      this->daemon({StoreError(StoreError::Kind::disconnected, "the connection broke"),
                    StoreError(StoreError::Kind::session_expired, "the session was lost")});
  daemon->run(report_);
  EXPECT_THAT(daemon->calls_, ElementsAre("start", "stop", "start", "stop", "start", "stop"));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("the connection broke"), HasSubstr("session was lost")));
  EXPECT_NE(daemon->sessions_.at(0), daemon->sessions_.at(2)) << "what was registered is gone";
}

TEST_F(DaemonTest, a_store_that_is_broken_does) {
  const auto daemon = this->daemon({StoreError(StoreError::Kind::storage, "the disk is broken")});
  EXPECT_THROW(daemon->run(report_), StoreError);
  EXPECT_THAT(daemon->calls_, ElementsAre("start", "stop"));
}

TEST_F(DaemonTest, a_disk_that_fills_up_during_the_start_delays_it_and_is_logged_once) {
  const StoreError failure(StoreError::Kind::no_space, "the disk is full");
  const auto daemon = this->daemon({failure, failure});
  daemon->run(report_);
  EXPECT_THAT(daemon->calls_, ElementsAre("start", "stop", "start", "stop", "start", "stop"));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("the disk is full")));
}

TEST_F(DaemonTest, a_start_that_waits_because_the_store_failed_is_reported_as_waiting) {
  const NotifySocket service_manager;
  service_manager.publish();
  const auto daemon = this->daemon({StoreError(StoreError::Kind::no_space, "the disk is full")});
  std::vector<std::vector<std::string>> obstacles;
  daemon->block_ = [&] { obstacles.push_back(daemon->health().obstacles); };
  daemon->run(report_);
  const std::string reason = "the store failed during the start: the disk is full";
  EXPECT_THAT(service_manager.received(), Contains("READY=1\nSTATUS=" + reason));
  EXPECT_THAT(obstacles,
              ElementsAre(ElementsAre("still starting"), ElementsAre(reason, "still starting")));
  EXPECT_THAT(daemon->health().obstacles, Not(Contains(reason))) << "it has served since";
}

TEST_F(DaemonTest, an_outage_of_the_store_is_the_status_of_the_service_until_its_end) {
  const NotifySocket service_manager;
  service_manager.publish();
  ::setenv("WATCHDOG_USEC", "200000", 1);
  const auto daemon = this->daemon({});
  const auto wait_for = [](TestDaemon& subject, const NotifySocket& socket,
                           std::string part) -> Task<> {
    while (true) {
      for (const std::string& message : socket.received()) {
        if (message.contains(part)) co_return;
      }
      co_await subject.runtime().clock.sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto serving = [](TestDaemon& subject, const NotifySocket& socket, auto wait,
                          std::string file) -> Task<> {
    co_await wait(subject, socket, "READY=1\nSTATUS=Serving");
    std::filesystem::rename(file, file + ".old");
    try {
      co_await subject.store().exists("/");
      ADD_FAILURE() << "read from a file that is gone";
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), StoreError::Kind::storage) << error.what();
    }
    co_await wait(subject, socket, "STATUS=the store has been unusable: ");
    std::filesystem::rename(file + ".old", file);
    co_await wait(subject, socket, "STATUS=Serving");
  };
  daemon->serving_ = [&] {
    return serving(*daemon, service_manager, wait_for, directory_.path() / "db");
  };
  daemon->run(report_);
  EXPECT_THAT(daemon->calls_, ElementsAre("start", "stop"));
}

TEST_F(DaemonTest, a_full_disk_delays_the_start_and_little_space_is_a_problem) {
  test_support::SmallDisk disk("size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount";
  disk.fill();
  Options options;
  options.config = directory_.write("nodepool.yaml", "store: sqlite://" + disk / "db" + "\n");
  options.foreground = true;
  std::unique_ptr<TestDaemon> daemon;
  std::vector<std::string> obstacles;
  auto log = telemetry::Log::to_consumer(
      [&](telemetry::LogLevel, std::string_view, std::string_view message) {
        if (!message.starts_with("Waiting for the store: ")) return;
        obstacles = daemon->health().obstacles;
        std::filesystem::remove(disk / "ballast");
      });
  daemon = std::make_unique<TestDaemon>(options, std::move(log), std::vector<StoreError>());
  daemon->run(report_);
  EXPECT_THAT(obstacles, ElementsAre(ContainsRegex("waiting for the store: .*; free space on")));
  EXPECT_THAT(daemon->calls_, ElementsAre("start", "stop"));
  EXPECT_THAT(daemon->state().problems, ElementsAre(HasSubstr("less than 16 MiB are free")));
}

// Says at its end whether the daemon was still there.
class Witness {
 public:
  Witness(std::unique_ptr<TestDaemon>& daemon, bool& testimony)
      : daemon_(daemon), testimony_(testimony) {}
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  ~Witness() { testimony_ = daemon_ != nullptr; }

 private:
  std::unique_ptr<TestDaemon>& daemon_;
  bool& testimony_;
};

TEST_F(DaemonTest, what_is_suspended_when_the_loop_breaks_goes_before_what_it_refers_to) {
  bool was_there = false;
  auto daemon = this->daemon({});
  const auto begin = [](std::unique_ptr<TestDaemon>& daemon, bool& testimony) -> Task<> {
    const Witness witness(daemon, testimony);
    const async::Runtime runtime = daemon->runtime();
    boost::asio::post(runtime.executor, [] { throw std::runtime_error("of no task"); });
    co_await runtime.clock.sleep_for(std::chrono::hours(1));
  };
  daemon->begin_ = [&] { return begin(daemon, was_there); };
  EXPECT_THROW(daemon->run(report_), std::runtime_error);
  // As the members of a subclass do, it goes before the loop.
  daemon.reset();
  EXPECT_TRUE(was_there);
}

TEST_F(DaemonTest, a_log_that_cannot_be_written_is_a_problem_of_the_daemon) {
  ::setenv("WATCHDOG_USEC", "200000", 1);
  Options options;
  options.config =
      directory_.write("nodepool.yaml", "store: sqlite://" + directory_.path().string() + "/db\n");
  options.foreground = true;
  telemetry::LogOptions log;
  log.targets = {{.kind = telemetry::LogTargetOptions::Kind::file, .file = "/dev/full"}};
  TestDaemon daemon(options, std::make_shared<telemetry::Log>(log), {});
  ::unsetenv("WATCHDOG_USEC");
  daemon.enable_registry();
  daemon.begin_ = [&]() -> Task<> {
    daemon.log().info("a message");
    while (daemon.state().problems.empty()) {
      co_await daemon.runtime().clock.sleep_for(std::chrono::milliseconds(1));
    }
  };
  daemon.run(report_);
  EXPECT_THAT(daemon.state().problems,
              ElementsAre("the log cannot be written: /dev/full: No space left on device"));
  EXPECT_THAT(daemon.health().warnings, ElementsAre(daemon.state().problems.front()));
  EXPECT_THAT(daemon.registry().prometheus_text(),
              Not(HasSubstr("nodepool_log_messages_dropped_total 0\n")));
}

TEST_F(DaemonTest, a_log_that_can_be_written_again_is_no_problem_before_the_next_message) {
  ::setenv("WATCHDOG_USEC", "200000", 1);
  Options options;
  options.config =
      directory_.write("nodepool.yaml", "store: sqlite://" + directory_.path().string() + "/db\n");
  options.foreground = true;
  const std::string file = directory_.path() / "log";
  std::filesystem::create_symlink("/dev/full", file);
  telemetry::LogOptions log;
  log.targets = {{.kind = telemetry::LogTargetOptions::Kind::file, .file = file}};
  TestDaemon daemon(options, std::make_shared<telemetry::Log>(log), {});
  ::unsetenv("WATCHDOG_USEC");
  const auto begin = [](TestDaemon& daemon, std::string file) -> Task<> {
    daemon.log().info("a message");
    while (daemon.state().problems.empty()) {
      co_await daemon.runtime().clock.sleep_for(std::chrono::milliseconds(1));
    }
    std::filesystem::remove(file);
    while (!daemon.state().problems.empty()) {
      co_await daemon.runtime().clock.sleep_for(std::chrono::milliseconds(1));
    }
  };
  daemon.begin_ = [&] { return begin(daemon, file); };
  daemon.run(report_);
  EXPECT_THAT(test_support::read_file(file), HasSubstr("could not be written to this log"));
}

TEST_F(DaemonTest, problems_of_what_starts_without_the_store_are_published_with_the_start) {
  const auto daemon = this->daemon({});
  daemon->early_problems_ = {"the port is in use"};
  std::vector<std::string> published;
  const auto begin = [](TestDaemon& daemon, std::vector<std::string>& published) -> Task<> {
    published = daemon.state().problems;
    co_return;
  };
  daemon->begin_ = [&] { return begin(*daemon, published); };
  daemon->run(report_);
  EXPECT_THAT(published, ElementsAre("the port is in use"));
  EXPECT_THAT(daemon->health().warnings, ElementsAre("the port is in use"));
}

TEST_F(DaemonTest, a_change_of_the_store_during_the_start_reaches_the_store_that_is_open) {
  const auto daemon = this->daemon({});
  const auto begin = [](TestDaemon& daemon, const test_support::TemporaryDirectory& directory,
                        std::vector<std::string>& published) -> Task<> {
    directory.write("nodepool.yaml", "store: sqlite://" + directory.path().string() + "/other\n");
    while (daemon.state().problems.empty()) {
      co_await daemon.runtime().clock.sleep_for(std::chrono::milliseconds(1));
    }
    published = daemon.state().problems;
  };
  std::vector<std::string> published;
  daemon->begin_ = [&] { return begin(*daemon, directory_, published); };
  daemon->run(report_);
  EXPECT_THAT(published, ElementsAre("changed keys that wait for a restart: store"));
}

// The store may have been opened with the configuration before.
TEST_F(DaemonTest, a_change_while_the_store_is_being_opened_is_applied_when_the_daemon_serves) {
  Options options;
  options.config = directory_.write("nodepool.yaml",
                                    "zookeeper-servers: [{host: 127.0.0.1, port: 1}]\n"
                                    "zookeeper-tls: {insecure-plaintext: true}\n");
  options.foreground = true;
  bool is_changed = false;
  auto log = telemetry::Log::to_consumer([&](telemetry::LogLevel, std::string_view,
                                             std::string_view message) {
    if (!message.starts_with("Waiting for the store: ")) return;
    if (std::exchange(is_changed, true)) return;
    directory_.write("nodepool.yaml", "store: sqlite://" + directory_.path().string() + "/db\n");
  });
  TestDaemon daemon(options, std::move(log), {});
  daemon.ends_when_reconfigured_ = true;
  daemon.run(report_);
  EXPECT_THAT(daemon.calls_, ElementsAre("start", "reconfigure", "stop"));
}

TEST_F(DaemonTest, a_store_that_refuses_writes_is_logged_once_and_an_obstacle_until_it_does_not) {
  const auto daemon = this->daemon({});
  const auto create = [](TestDaemon& daemon) -> Task<bool> {
    try {
      co_await daemon.store().create("/a", "", coordination::CreateMode::persistent);
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), StoreError::Kind::storage) << error.what();
      co_return false;
    }
    co_return true;
  };
  const auto begin = [](TestDaemon& daemon, auto create,
                        std::vector<std::vector<std::string>>& obstacles) -> Task<> {
    {
      const test_support::FileSizeLimit full_disk(0);
      for (int i = 0; i < 2; ++i) {
        const bool is_accepted = co_await create(daemon);
        EXPECT_FALSE(is_accepted);
      }
      obstacles.push_back(daemon.health().obstacles);
    }
    const bool is_accepted = co_await create(daemon);
    EXPECT_TRUE(is_accepted);
    obstacles.push_back(daemon.health().obstacles);
  };
  std::vector<std::vector<std::string>> obstacles;
  daemon->begin_ = [&] { return begin(*daemon, create, obstacles); };
  daemon->run(report_);
  EXPECT_THAT(obstacles,
              ElementsAre(ElementsAre(HasSubstr("the store refuses writes: "), "still starting"),
                          ElementsAre("still starting")));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("The store refuses writes: ")));
}

TEST_F(DaemonTest, a_store_whose_file_is_moved_is_logged_and_an_obstacle_until_it_is_in_place) {
  const auto daemon = this->daemon({});
  const auto begin = [](TestDaemon& daemon, std::string file,
                        std::vector<std::vector<std::string>>& obstacles) -> Task<> {
    std::filesystem::rename(file, file + ".old");
    try {
      co_await daemon.store().exists("/");
      ADD_FAILURE() << "read from a file that is gone";
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), StoreError::Kind::storage) << error.what();
    }
    obstacles.push_back(daemon.health().obstacles);
    std::filesystem::rename(file + ".old", file);
    while (daemon.health().obstacles.size() > 1) {
      co_await daemon.runtime().clock.sleep_for(std::chrono::milliseconds(1));
    }
    obstacles.push_back(daemon.health().obstacles);
  };
  std::vector<std::vector<std::string>> obstacles;
  daemon->begin_ = [&] { return begin(*daemon, directory_.path() / "db", obstacles); };
  daemon->run(report_);
  EXPECT_THAT(obstacles,
              ElementsAre(ElementsAre(ContainsRegex("the store has been unusable for 0 s: .*"
                                                    "the file was removed or replaced"),
                                      "still starting"),
                          ElementsAre("still starting")));
  EXPECT_THAT(log_, ElementsAre(ContainsRegex("The store cannot be used: .*removed or replaced")));
}

constexpr telemetry::Metric kRings{.name = "rings",
                                   .kind = telemetry::Metric::Kind::gauge,
                                   .labels = {{{"bird"}}},
                                   .help = "rings that were put on the bird"};

TEST_F(DaemonTest, the_first_dropped_series_of_a_metric_is_logged) {
  const auto daemon = this->daemon({});
  daemon->enable_registry();
  daemon->block_ = [&daemon] {
    for (std::size_t i = 0; i < telemetry::MetricsRegistry::kMostSeries + 3; ++i) {
      daemon->metrics().gauge(telemetry::series<kRings>(std::to_string(i)), 1);
    }
  };
  daemon->run(report_);
  EXPECT_THAT(log_, Contains("The metric rings has more than 20000 series: further ones are "
                             "dropped")
                        .Times(1));
}

// Lines from any thread.
class SharedLog {
 public:
  std::shared_ptr<telemetry::Log> sink() {
    return telemetry::Log::to_consumer(
        [this](telemetry::LogLevel level, std::string_view, std::string_view message) {
          const std::lock_guard lock(mutex_);
          if (level >= telemetry::LogLevel::warning) text_.append(message).append("\n");
          changed_.notify_all();
        });
  }
  void wait_for(const std::string& part) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, test_support::kPatience, [&] { return text_.contains(part); }))
        << "no " << part << " in: " << text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

TEST_F(DaemonTest, a_loop_that_stands_still_is_logged_with_its_stack_and_counted) {
  // A quarter of what the service manager has in patience.
  ::setenv("WATCHDOG_USEC", "200000", 1);
  SharedLog log;
  Options options;
  options.config =
      directory_.write("nodepool.yaml", "store: sqlite://" + directory_.path().string() + "/db\n");
  options.foreground = true;
  TestDaemon daemon(options, log.sink(), {});
  ::unsetenv("WATCHDOG_USEC");
  daemon.enable_registry();
  // The loop goes on only when the dump is there.
  daemon.block_ = [&log] { log.wait_for("The event loop has been blocked for "); };
  EXPECT_THAT(daemon.registry().prometheus_text(), HasSubstr("nodepool_loop_stalls_total 0\n"));
  daemon.run(report_);
  // At least once: a busy machine can stall the loop, too.
  EXPECT_THAT(daemon.registry().prometheus_text(),
              ContainsRegex("nodepool_loop_stalls_total [1-9]"));
}

}  // namespace
}  // namespace nodepool::program
