#include "program/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "coordination/error.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::program {
namespace {

using coordination::StoreError;
using testing::ElementsAre;
using testing::HasSubstr;

// A daemon that writes down what it is told, and ends itself once it serves.
class TestDaemon final : public Daemon {
 public:
  TestDaemon(const Options& options, std::shared_ptr<telemetry::Log> log,
             std::vector<StoreError> failures)
      : Daemon(options, std::move(log), "test"), failures_(std::move(failures)) {}

  std::vector<std::string> calls_;
  std::vector<std::int64_t> sessions_;

 private:
  const driver::DriverRegistry& drivers() const override { return drivers_; }

  Task<> start(config::Config /*config*/) override {
    calls_.emplace_back("start");
    sessions_.push_back(store().session_id());
    co_await store().exists("/");
    if (!failures_.empty()) {
      const StoreError failure = failures_.front();
      failures_.erase(failures_.begin());
      throw StoreError(failure);
    }
    ::raise(SIGTERM);
  }
  Task<> reconfigure(config::Config /*config*/) override {
    calls_.emplace_back("reconfigure");
    co_return;
  }
  Task<> stop() override {
    calls_.emplace_back("stop");
    co_await store().exists("/");
  }

  driver::DriverRegistry drivers_{{}};
  std::vector<StoreError> failures_;
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
  const auto daemon = this->daemon({StoreError(StoreError::Kind::storage, "the disk is full")});
  EXPECT_THROW(daemon->run(report_), StoreError);
  EXPECT_THAT(daemon->calls_, ElementsAre("start", "stop"));
}

}  // namespace
}  // namespace nodepool::program
