#include "program/config_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "async/deadline.h"
#include "async/event_loop.h"
#include "config/problem.h"
#include "coordination/error.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::program {
namespace {

using namespace std::chrono_literals;
using async::Task;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A daemon whose configuration is the text of a file; "bad" is invalid, and `clouds` is a further
// file.
class ConfigFollowerTest : public testing::Test {
 protected:
  ConfigFollowerTest() {
    directory_.write("config", "one");
    directory_.write("clouds", "");
  }
  ~ConfigFollowerTest() override { loop_.run(scope_.stop()); }

  // Follows with events, and with looks this far apart.
  void follow(async::Duration poll, async::Duration retry = 10ms) {
    const telemetry::Logger log(
        telemetry::Log::to_consumer(
            [this](telemetry::LogLevel level, std::string_view, std::string_view message) {
              if (level >= telemetry::LogLevel::warning) log_.emplace_back(message);
            }),
        "test");
    ConfigFollower::Source source{
        .files = {path("config")},
        .load = [this] { return load(); },
        .further_files =
            [this](const config::Config&) { return std::set<std::string>{path("clouds")}; },
        .apply = [this](config::Config config) { return apply(std::move(config)); },
        .apply_ahead =
            [this](const config::Config& config) {
              ahead_.push_back(config.images_dir.value_or(""));
              changed_.set();
            }};
    follower_.emplace(runtime_, log, std::move(source),
                      ConfigFollower::Intervals{.settling = 1ms, .poll = poll, .retry = retry});
    follower_->load();
    scope_.spawn("follower", follower_->run());
  }

  config::Config load() {
    std::string text;
    std::ifstream(path("config")) >> text;
    ++loads_;
    if (auto after = std::exchange(after_read_, nullptr)) after();
    changed_.set();
    if (text == "bad") throw config::ConfigError({.file = "config", .message = "bad"});
    config::Config config;
    config.images_dir = text;
    return config;
  }

  Task<> apply(config::Config config) {
    ++applications_;
    changed_.set();
    if (is_store_away_) co_await store_is_back_.wait();
    if (!refusals_.empty()) {
      const coordination::StoreError error = refusals_.back();
      refusals_.pop_back();
      throw coordination::StoreError(error);
    }
    applied_.push_back(config.images_dir.value_or(""));
    changed_.set();
  }

  std::string path(const std::string& name) const { return directory_.path() / name; }

  void replace(const std::string& name, const std::string& text) {
    std::filesystem::rename(directory_.write(name + ".new", text), path(name));
  }

  void wait_until(const std::function<bool()>& condition) {
    auto waiting = [](async::Event& changed, const std::function<bool()>& holds) -> Task<> {
      while (!holds()) co_await changed.wait();
    };
    loop_.run(async::with_deadline(clock_, clock_.now() + test_support::kPatience,
                                   waiting(changed_, condition), "what the test waits for"));
  }

  test_support::TemporaryDirectory directory_;
  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::Event changed_;
  std::vector<std::string> log_;
  std::vector<std::string> applied_;
  std::vector<coordination::StoreError> refusals_;
  bool is_store_away_ = false;  // apply() waits for it
  async::Event store_is_back_;
  std::vector<std::string> ahead_;
  int applications_ = 0;  // begun
  int loads_ = 0;
  std::function<void()> after_read_;
  std::optional<ConfigFollower> follower_;
  async::TaskScope scope_{
      runtime_, [](const std::string&, const std::string& error) { ADD_FAILURE() << error; }};
};

TEST_F(ConfigFollowerTest, a_file_that_has_been_replaced_is_loaded) {
  follow(1h);
  replace("config", "two");
  wait_until([&] { return applied_.size() == 1; });
  EXPECT_THAT(applied_, ElementsAre("two"));
}

TEST_F(ConfigFollowerTest, so_is_one_that_the_configuration_rests_on) {
  follow(1h);
  replace("clouds", "other");
  wait_until([&] { return applied_.size() == 1; });
  std::filesystem::remove(path("clouds"));
  wait_until([&] { return applied_.size() == 2; });
}

// A second name of the file in another directory: the kernel tells who watches that one.
TEST_F(ConfigFollowerTest, a_change_without_an_event_is_found_by_looking) {
  std::filesystem::create_directory(path("elsewhere"));
  std::filesystem::create_hard_link(path("config"), path("elsewhere/config"));
  follow(10ms);
  std::ofstream(path("elsewhere/config")) << "three";
  wait_until([&] { return !applied_.empty(); });
  EXPECT_EQ(applied_.back(), "three");
}

TEST_F(ConfigFollowerTest, a_failed_load_is_retried_and_logged_once) {
  follow(1h);
  replace("config", "bad");
  wait_until([&] { return loads_ > 4; });
  EXPECT_THAT(log_, ElementsAre(HasSubstr("the previous one stays in effect: config: bad")));
  replace("config", "two");
  wait_until([&] { return !applied_.empty(); });
  EXPECT_THAT(applied_, ElementsAre("two"));
  // A later failure is another one.
  replace("config", "bad");
  wait_until([&] { return log_.size() == 2; });
}

TEST_F(ConfigFollowerTest, a_failed_load_beside_a_changed_further_file_is_retried_at_intervals) {
  constexpr auto kRetry = 50ms;
  follow(1h, kRetry);
  replace("clouds", "other");
  replace("config", "bad");
  wait_until([&] { return log_.size() == 1; });
  const async::Clock::TimePoint begin = clock_.now();
  const int before = loads_;
  wait_until([&] { return loads_ >= before + 5; });
  EXPECT_GE(clock_.now() - begin, 2 * kRetry) << "late events may have caused some loads";
}

TEST_F(ConfigFollowerTest, what_completes_a_file_after_it_was_read_counts) {
  follow(1h, 1h);
  after_read_ = [this] { replace("config", "complete"); };
  replace("config", "two");
  wait_until([&] { return applied_.size() == 2; });
  EXPECT_THAT(applied_, ElementsAre("two", "complete"));
}

TEST_F(ConfigFollowerTest, a_requested_reload_is_done_and_logged) {
  follow(1h, 1h);
  follower_->reload();
  wait_until([&] { return applied_.size() == 1; });
  replace("config", "bad");
  wait_until([&] { return log_.size() == 1; });
  follower_->reload();
  wait_until([&] { return log_.size() == 2; });
  EXPECT_THAT(log_, Contains(HasSubstr("bad")).Times(2));
}

TEST_F(ConfigFollowerTest, what_the_store_has_kept_from_being_done_is_done_again) {
  using coordination::StoreError;
  refusals_ = {2, StoreError(StoreError::Kind::disconnected, "gone")};
  follow(1h);
  replace("config", "two");
  wait_until([&] { return !applied_.empty(); });
  EXPECT_THAT(log_, ElementsAre(HasSubstr("retrying: gone")));
}

TEST_F(ConfigFollowerTest, a_change_counts_at_once_while_an_earlier_one_waits_for_the_store) {
  is_store_away_ = true;
  follow(1h, 1h);
  replace("config", "two");
  wait_until([&] { return applications_ == 1; });
  replace("config", "three");
  wait_until([&] { return !ahead_.empty(); });
  EXPECT_THAT(ahead_, ElementsAre("three"));
  EXPECT_THAT(applied_, IsEmpty()) << "one after the other";
  is_store_away_ = false;
  store_is_back_.set();
  wait_until([&] { return applied_.size() == 2; });
  EXPECT_THAT(applied_, ElementsAre("two", "three"));
}

TEST_F(ConfigFollowerTest, an_error_is_logged_once_while_an_earlier_change_waits_for_the_store) {
  is_store_away_ = true;
  follow(1h, 1h);
  replace("config", "two");
  wait_until([&] { return applications_ == 1; });
  replace("config", "bad");
  wait_until([&] { return !log_.empty(); });
  is_store_away_ = false;
  store_is_back_.set();
  const int before = loads_;
  wait_until([&] { return applied_.size() == 1 && loads_ > before; });
  EXPECT_THAT(log_, ElementsAre(HasSubstr("the previous one stays in effect: config: bad")));
}

TEST_F(ConfigFollowerTest, a_reload_requested_while_an_earlier_one_waits_for_the_store_follows) {
  is_store_away_ = true;
  follow(1h, 1h);
  follower_->reload();
  wait_until([&] { return applications_ == 1; });
  follower_->reload();
  is_store_away_ = false;
  store_is_back_.set();
  wait_until([&] { return applied_.size() == 2; });
  EXPECT_THAT(ahead_, IsEmpty());
}

}  // namespace
}  // namespace nodepool::program
