#include "driver/statemachine/wait_in_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "tests/support/virtual_time.h"

namespace nodepool::driver {
namespace {

using async::Task;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Everything that a cloud lists: one machine, or none.
struct OneMachine {
  using Thing = std::string;
  std::optional<std::string> machine;
  bool may_be_listed = true;

  bool is_known() const { return may_be_listed; }
  const std::string* find(const std::string& id) const {
    return machine == id ? &*machine : nullptr;
  }
};

class WaitInListingTest : public testing::Test {
 protected:
  ~WaitInListingTest() override { loop_.run(scope_.stop()); }

  Task<OneMachine> list() {
    ++listings_;
    if (is_denied_) throw CloudError(CloudError::Kind::permanent, "HTTP 403: forbidden");
    co_return listed_;
  }

  Task<bool> is_gone() {
    ++questions_;
    co_return is_gone_;
  }

  static Task<> wait(WaitInListingTest& test, std::function<Task<bool>()> is_gone) {
    PollWaiter awaited = test.listing_.await(test.expected_);
    const auto is_up = [](const std::string&) { return true; };
    const ListingWait context{test.runtime_, test.logger_, "machines"};
    const CloudError error(CloudError::Kind::failed, "it has disappeared");
    try {
      co_await wait_in_listing(context, test.listing_, awaited, "m", is_up, seconds(30), error,
                               std::move(is_gone));
      test.outcome_.emplace_back("up");
    } catch (const CloudError& failure) {
      test.outcome_.emplace_back(failure.what());
    }
  }

  static Task<> wait_for_removal(WaitInListingTest& test, std::function<Task<bool>()> is_gone) {
    PollWaiter awaited = test.listing_.await_removal();
    const auto removal_of = [&test](const std::string&) { return test.removal_; };
    const ListingWait context{test.runtime_, test.logger_, "machines"};
    const auto last = co_await wait_until_gone(context, test.listing_, awaited, "m", removal_of,
                                               seconds(30), std::move(is_gone));
    test.outcome_.emplace_back(last ? "listed as gone" : "gone");
  }

  void begin_removal(std::function<Task<bool>()> is_gone = {}) {
    scope_.spawn("a test's deletion", wait_for_removal(*this, std::move(is_gone)));
    settle();
  }

  void begin(std::function<Task<bool>()> is_gone = {}) {
    scope_.spawn("a test's wait", wait(*this, std::move(is_gone)));
    settle();
  }

  void settle() {
    while (loop_.poll()) {
    }
  }
  void pass(async::Duration time) {
    test_support::pass(clock_, time, [this] { settle(); });
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  telemetry::Logger logger_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {}),
      "test"};
  OneMachine listed_;
  int listings_ = 0;
  bool is_denied_ = false;
  Removal removal_ = Removal::not_begun;
  bool is_gone_ = false;
  int questions_ = 0;
  std::optional<Expectation> expected_;
  std::vector<std::string> outcome_;
  SharedPoller<OneMachine> listing_{runtime_, "a test's machines",
                                    PollIntervals{.unknown = seconds(1), .least = seconds(1)},
                                    [this] { return list(); }};
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(WaitInListingTest, a_permission_that_is_withdrawn_for_a_moment_ends_no_wait) {
  is_denied_ = true;
  begin();
  pass(seconds(120));
  EXPECT_THAT(outcome_, IsEmpty());
  EXPECT_LT(listings_, 25) << "of 120, one a second";
  is_denied_ = false;
  listed_.machine = "m";
  pass(seconds(31));
  EXPECT_THAT(outcome_, ElementsAre("up"));
}

TEST_F(WaitInListingTest, a_permission_that_is_withdrawn_for_long_ends_a_wait) {
  is_denied_ = true;
  begin();
  pass(seconds(299));
  EXPECT_THAT(outcome_, IsEmpty());
  pass(seconds(120));
  EXPECT_THAT(outcome_, ElementsAre("HTTP 403: forbidden"));
}

TEST_F(WaitInListingTest, the_patience_begins_with_the_first_listing_that_lacks_the_machine) {
  expected_ = Expectation{
      .earliest = seconds(400), .usual = seconds(500), .latest = seconds(600), .step = seconds(1)};
  begin();
  pass(seconds(301));
  EXPECT_EQ(listings_, 1);
  EXPECT_THAT(outcome_, IsEmpty());
  listed_.machine = "m";
  pass(seconds(110));
  EXPECT_THAT(outcome_, ElementsAre("up"));
}

TEST_F(WaitInListingTest, a_machine_that_complete_listings_lack_for_long_is_gone) {
  begin();
  pass(seconds(30));
  EXPECT_THAT(outcome_, IsEmpty());
  pass(seconds(5));
  EXPECT_THAT(outcome_, ElementsAre("it has disappeared"));
}

TEST_F(WaitInListingTest, a_machine_that_incomplete_listings_lack_is_asked_for_itself) {
  begin([this] { return is_gone(); });
  pass(seconds(100));
  EXPECT_THAT(outcome_, IsEmpty());
  EXPECT_EQ(questions_, 3) << "one after each patience";
  is_gone_ = true;
  pass(seconds(40));
  EXPECT_THAT(outcome_, ElementsAre("it has disappeared"));
}

TEST_F(WaitInListingTest, a_machine_that_a_complete_listing_lacks_is_deleted) {
  begin_removal();
  pass(seconds(5));
  EXPECT_THAT(outcome_, ElementsAre("gone"));
}

TEST_F(WaitInListingTest, a_deleted_machine_may_still_be_listed) {
  listed_.machine = "m";
  begin_removal([this] { return is_gone(); });
  pass(seconds(5));
  EXPECT_THAT(outcome_, IsEmpty());
  removal_ = Removal::done;
  pass(seconds(5));
  EXPECT_THAT(outcome_, ElementsAre("listed as gone"));
  EXPECT_EQ(questions_, 0);
}

TEST_F(WaitInListingTest, a_deletion_that_no_listing_shows_is_done_when_the_cloud_says_so) {
  begin_removal([this] { return is_gone(); });
  pass(seconds(100));
  EXPECT_THAT(outcome_, IsEmpty());
  EXPECT_EQ(questions_, 4) << "at once, and after each patience";
  is_gone_ = true;
  pass(seconds(40));
  EXPECT_THAT(outcome_, ElementsAre("gone"));
}

TEST_F(WaitInListingTest, a_deletion_that_a_listing_has_shown_needs_no_question) {
  listed_.machine = "m";
  removal_ = Removal::in_progress;
  begin_removal([this] { return is_gone(); });
  pass(seconds(5));
  EXPECT_THAT(outcome_, IsEmpty());
  listed_.machine.reset();
  pass(seconds(5));
  EXPECT_THAT(outcome_, ElementsAre("gone"));
  EXPECT_EQ(questions_, 0);
}

TEST_F(WaitInListingTest, a_deletion_that_was_shown_is_not_done_because_listings_are_unknown) {
  listed_.machine = "m";
  removal_ = Removal::in_progress;
  begin_removal([this] { return is_gone(); });
  pass(seconds(5));
  listed_ = {.machine = {}, .may_be_listed = false};
  pass(seconds(40));
  EXPECT_THAT(outcome_, IsEmpty());
  EXPECT_GT(questions_, 0);
  is_gone_ = true;
  pass(seconds(40));
  EXPECT_THAT(outcome_, ElementsAre("gone"));
}

}  // namespace
}  // namespace nodepool::driver
