#include "cloud/last_known.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {
namespace {

using driver::CloudError;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A number that a service may not tell.
class LastKnownTest : public testing::Test {
 protected:
  int get() {
    const LastKnown<int>::Ask ask = [this] { return tell(); };
    return *loop_.run(known_.get(ask));
  }

  async::Task<> get_one() {
    const LastKnown<int>::Ask ask = [this] { return tell(); };
    co_await known_.get(ask);
  }

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
  int asked_ = 0;
  async::Duration time_{};  // of each answer
  std::optional<CloudError> failure_;
  LastKnown<int> known_{runtime_, logger_, "numbers", 0};

 private:
  async::Task<std::shared_ptr<const int>> tell() {
    ++asked_;
    co_await clock_.sleep_for(time_);
    if (failure_) throw CloudError(*failure_);
    co_return std::make_shared<const int>(asked_);
  }
};

TEST_F(LastKnownTest, each_answer_serves_while_the_service_answers) {
  EXPECT_EQ(get(), 1);
  EXPECT_EQ(get(), 2);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(LastKnownTest, the_last_answer_serves_until_the_service_answers_again) {
  get();
  pass(std::chrono::seconds(20));
  failure_.emplace(CloudError::Kind::transient, "nothing answers");
  EXPECT_EQ(get(), 1);
  EXPECT_EQ(get(), 1);
  EXPECT_EQ(asked_, 2) << "it is not asked at once";
  EXPECT_THAT(log_, ElementsAre(HasSubstr("numbers, using those of 20 s ago: nothing answers")));
  pass(LastKnown<int>::kPause);
  failure_.reset();
  EXPECT_EQ(get(), 3);
}

TEST_F(LastKnownTest, before_the_first_answer_nothing_is_known) {
  failure_.emplace(CloudError::Kind::transient, "nothing answers");
  EXPECT_EQ(get(), 0);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("numbers, not known yet: nothing answers")));
}

TEST_F(LastKnownTest, callers_that_ask_together_notice_one_outage) {
  failure_.emplace(CloudError::Kind::transient, "nothing answers");
  async::TaskScope callers(runtime_, [](const std::string&, const std::string&) {});
  const auto ask_for = [this, &callers](async::Duration time) {
    time_ = time;
    callers.spawn("caller", get_one());
    while (loop_.poll()) {
    }
  };
  ask_for(std::chrono::seconds(10));
  ask_for(std::chrono::seconds(20));
  for (int i = 0; i < 2; ++i) {
    pass(std::chrono::seconds(10));
    while (loop_.poll()) {
    }
  }
  EXPECT_TRUE(callers.empty());
  EXPECT_THAT(log_, SizeIs(1));
  pass(LastKnown<int>::kPause - std::chrono::seconds(10));
  failure_.reset();
  time_ = {};
  EXPECT_EQ(get(), 3) << "the pause began with the first failure";
}

TEST_F(LastKnownTest, a_refusal_is_no_outage) {
  get();
  failure_.emplace(CloudError::Kind::permanent, "forbidden");
  EXPECT_THROW(get(), CloudError);
  EXPECT_THAT(log_, SizeIs(0));
}

}  // namespace
}  // namespace nodepool::cloud
