#include "cloud/token_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {
namespace {

using driver::CloudError;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

struct Token {
  int number = 0;
  TokenLife life;
};

// Tokens that last an hour, from a service that may be away.
class TokenCacheTest : public testing::Test {
 protected:
  ~TokenCacheTest() override { loop_.run(cache_.stop()); }

  int get() { return loop_.run(cache_.get())->number; }

  void pass(async::Duration time) { clock_.advance_by(time); }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  std::vector<std::string> log_;
  telemetry::Logger logger_{
      telemetry::Log::to_consumer([this](telemetry::LogLevel, std::string_view,
                                         std::string_view text) { log_.emplace_back(text); }),
      "test"};
  bool is_away_ = false;
  int asked_ = 0;
  TokenCache<Token> cache_{runtime_, "token", logger_, [this] { return ask(); }};

 private:
  async::Task<Token> ask() {
    ++asked_;
    if (is_away_) throw CloudError(CloudError::Kind::transient, "nothing answers");
    co_return Token{.number = asked_, .life = token_life(clock_.now(), minutes(60))};
  }
};

TEST_F(TokenCacheTest, a_token_is_renewed_before_it_expires) {
  EXPECT_EQ(get(), 1);
  pass(minutes(54));
  EXPECT_EQ(get(), 1);
  pass(minutes(2));
  EXPECT_EQ(get(), 2);
}

TEST_F(TokenCacheTest, a_token_that_cannot_be_renewed_is_used_until_it_expires) {
  get();
  is_away_ = true;
  pass(minutes(56));
  EXPECT_EQ(get(), 1);
  EXPECT_EQ(get(), 1);
  EXPECT_EQ(asked_, 2) << "there is a pause between failed renewals";
  EXPECT_THAT(log_, ElementsAre(HasSubstr("Error renewing token, using the old one until it "
                                          "expires: nothing answers")));
  pass(seconds(31));
  EXPECT_EQ(get(), 1);
  EXPECT_EQ(asked_, 3);
  pass(minutes(4));
  EXPECT_THROW(get(), CloudError);
  is_away_ = false;
  EXPECT_EQ(get(), asked_);
}

TEST_F(TokenCacheTest, a_service_that_is_back_renews_the_token) {
  get();
  is_away_ = true;
  pass(minutes(56));
  get();
  is_away_ = false;
  pass(seconds(31));
  EXPECT_EQ(get(), 3);
}

TEST_F(TokenCacheTest, a_token_that_was_refused_is_not_used_again) {
  const auto token = loop_.run(cache_.get());
  is_away_ = true;
  cache_.refused(token);
  EXPECT_THROW(get(), CloudError);
}

TEST(TokenLife, is_what_every_clock_can_count) {
  const async::Clock::TimePoint now{};
  for (const double seconds : {1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_GT(token_life(now, std::chrono::duration<double>(seconds)).renew_at,
              now + std::chrono::hours(24 * 365));
  }
  EXPECT_EQ(token_life(now, std::chrono::duration<double>(-5)).ends_at, now);
  EXPECT_EQ(token_life(now, std::chrono::duration<double>(std::nan(""))).ends_at, now);
}

}  // namespace
}  // namespace nodepool::cloud
