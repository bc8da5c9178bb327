#include "driver/statemachine/shared_poller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "driver/cloud_error.h"
#include "tests/support/virtual_time.h"

namespace nodepool::driver {
namespace {

using async::Task;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

// Machines come up, and those who wait for them look.
class SharedPollerTest : public testing::Test {
 protected:
  using Up = std::set<int>;

  ~SharedPollerTest() override { loop_.run(scope_.stop()); }

  Task<Up> list() {
    asked_.push_back(now());
    if (queued_ > async::Duration::zero()) {
      co_await clock_.sleep_for(queued_);
      const auto tracer = async::tracer_of(co_await boost::asio::this_coro::executor);
      for (const bool is_retry : attempts_) {
        tracer->sending(is_retry);
        co_await clock_.sleep_for(seconds(1));
      }
    }
    const Up seen = up_;
    co_await clock_.sleep_for(latency_);
    if (is_broken_) throw CloudError(CloudError::Kind::transient, "the cloud does not answer");
    co_return seen;
  }

  static Task<> wait_for(SharedPollerTest& test, int machine, PollWaiter awaited) {
    try {
      while (true) {
        const auto up = co_await test.listing_.next(awaited);
        if (up->contains(machine)) break;
      }
      test.seen_.push_back(test.now());
    } catch (const CloudError&) {
      test.failed_.push_back(test.now());
    }
  }

  static Task<> wait_through_failures(SharedPollerTest& test, int machine, PollWaiter awaited) {
    SharedPoller<Up>::Pointer up;
    while (!up || !up->contains(machine)) {
      up = co_await if_answered(test.listing_.next(awaited), "Machines", test.logger_);
    }
    test.seen_.push_back(test.now());
  }

  static Task<SharedPoller<Up>::Pointer> failing(CloudError::Kind kind) {
    throw CloudError(kind, "as the test wants it");
    co_return nullptr;
  }

  static Task<> see_without(SharedPollerTest& test, int machine, PollWaiter awaited) {
    const auto up = co_await test.listing_.next(awaited);
    EXPECT_FALSE(up->contains(machine));
    test.seen_.push_back(test.now());
  }

  void remove(int machine) {
    scope_.spawn("a test's removal", see_without(*this, machine, listing_.await_removal()));
  }

  void begin(int machine, std::optional<Expectation> expected = {}) {
    scope_.spawn("a test's wait", wait_for(*this, machine, listing_.await(expected)));
    settle();
  }

  void settle() {
    while (loop_.poll()) {
    }
  }
  void pass(async::Duration time) {
    test_support::pass(clock_, time, [this] { settle(); });
  }
  double now() const { return std::chrono::duration<double>(clock_.now() - start_).count(); }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::Clock::TimePoint start_ = clock_.now();
  telemetry::Logger logger_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {}),
      "test"};
  Up up_;
  bool is_broken_ = false;
  async::Duration queued_{};           // until a listing is sent
  std::vector<bool> attempts_{false};  // of its calls, each 1 s: whether they are retries
  async::Duration latency_{};
  std::vector<double> asked_;
  std::vector<double> seen_;
  std::vector<double> failed_;
  SharedPoller<Up> listing_{runtime_, "a test's machines",
                            PollIntervals{.unknown = seconds(1), .least = milliseconds(20)},
                            [this] { return list(); }};
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(SharedPollerTest, all_waiters_share_each_poll) {
  for (int machine = 0; machine < 100; ++machine) {
    begin(machine);
    pass(milliseconds(5));
  }
  pass(seconds(1));
  EXPECT_THAT(asked_, SizeIs(1)) << "a hundred that were made within half a second";
  for (int machine = 0; machine < 100; ++machine) up_.insert(machine);
  pass(seconds(1));
  EXPECT_THAT(asked_, SizeIs(2));
  EXPECT_THAT(seen_, SizeIs(100));
}

TEST_F(SharedPollerTest, polls_of_a_failing_cloud_back_off) {
  scope_.spawn("a test's wait", wait_through_failures(*this, 1, listing_.await()));
  is_broken_ = true;
  pass(seconds(120));
  EXPECT_THAT(asked_, SizeIs(testing::Lt(25))) << "of 120, one a second";
  is_broken_ = false;
  up_.insert(1);
  pass(seconds(30));
  EXPECT_THAT(seen_, SizeIs(1));
}

TEST_F(SharedPollerTest, only_a_permanent_error_ends_a_wait) {
  using Kind = CloudError::Kind;
  for (const Kind kind : {Kind::failed, Kind::transient, Kind::auth, Kind::quota, Kind::not_found,
                          Kind::unknown_outcome}) {
    EXPECT_EQ(loop_.run(if_answered(failing(kind), "Machines", logger_)), nullptr);
  }
  EXPECT_THROW(loop_.run(if_answered(failing(Kind::permanent), "Machines", logger_)), CloudError);
  Denials denials(clock_);
  auto tolerant = if_answered(failing(Kind::permanent), "Machines", logger_, &denials);
  EXPECT_EQ(loop_.run(std::move(tolerant)), nullptr) << "unless it may end";
}

TEST_F(SharedPollerTest, what_is_known_decides_when_it_is_asked_for) {
  const Expectation expected{
      .earliest = seconds(8), .usual = seconds(10), .latest = seconds(12), .step = seconds(1)};
  begin(1, expected);
  pass(seconds(8));
  EXPECT_THAT(asked_, ElementsAre(6));
  up_.insert(1);
  pass(seconds(4));
  EXPECT_THAT(asked_, ElementsAre(6, 9));
  EXPECT_THAT(seen_, ElementsAre(9));
}

TEST_F(SharedPollerTest, a_change_notification_triggers_a_poll) {
  begin(1, Expectation{.earliest = seconds(600),
                       .usual = seconds(700),
                       .latest = seconds(800),
                       .step = seconds(20)});
  pass(seconds(10));
  up_.insert(1);
  listing_.poll_now();
  settle();
  EXPECT_THAT(seen_, ElementsAre(10));
  begin(2);
  for (int change = 0; change < 100; ++change) {
    listing_.poll_now();
    pass(milliseconds(1));
  }
  EXPECT_LE(asked_.size(), 7U) << "a stream of changes is no reason for a stream of questions";
}

TEST_F(SharedPollerTest, a_change_during_a_poll_triggers_another_poll) {
  latency_ = seconds(2);
  begin(1);
  pass(seconds(2));  // the cloud has looked at its machines, and not answered yet
  up_.insert(1);
  listing_.poll_now();
  pass(milliseconds(4100));
  EXPECT_THAT(seen_, ElementsAre(testing::DoubleNear(6, 1e-6)))
      << "a second of rest, though this took two";
}

TEST_F(SharedPollerTest, a_slow_cloud_is_polled_less_often) {
  const Expectation any_moment{
      .earliest = {}, .usual = seconds(5), .latest = seconds(60), .step = milliseconds(100)};
  latency_ = milliseconds(400);
  begin(1, any_moment);
  pass(milliseconds(2200));
  EXPECT_THAT(asked_,
              ElementsAre(0.1, testing::DoubleNear(0.9, 1e-6), testing::DoubleNear(1.7, 1e-6)));
  latency_ = milliseconds(1);
  pass(milliseconds(650));
  EXPECT_THAT(asked_, SizeIs(7)) << "a faster answer counts at once";
}

// The orders queue for a call a second; each machine takes 5 s, and that is known.
TEST_F(SharedPollerTest, polling_is_deferred_to_the_last_queued_create) {
  const Expectation expected{
      .earliest = seconds(5), .usual = seconds(5), .latest = seconds(6), .step = milliseconds(100)};
  constexpr int kMachines = 40;
  std::vector<std::unique_ptr<SharedPoller<Up>::PendingCreate>> pending_creates;
  for (int machine = 0; machine < kMachines; ++machine) {
    pending_creates.push_back(std::make_unique<SharedPoller<Up>::PendingCreate>(listing_));
  }
  for (int machine = 0; machine < kMachines; ++machine) {
    pass(seconds(1));
    up_.insert(machine - 4);  // made 5 s ago when it has passed
    scope_.spawn("a test's wait",
                 wait_for(*this, machine, pending_creates.front()->await(expected)));
    settle();
    pending_creates.erase(pending_creates.begin());
  }
  for (int machine = kMachines - 4; machine < kMachines; ++machine) {
    pass(seconds(1));
    up_.insert(machine);
  }
  pass(seconds(2));
  EXPECT_THAT(seen_, SizeIs(kMachines));
  EXPECT_LE(asked_.size(), kMachines / 3U);
  EXPECT_NEAR(seen_.front(), 6, 0.7) << "the first has not queued for long";
  EXPECT_NEAR(seen_.back(), kMachines + 5, 0.5) << "no create is queued after the last";
}

TEST_F(SharedPollerTest, a_failed_poll_is_reported_to_its_waiters) {
  is_broken_ = true;
  begin(1);
  begin(2);
  pass(milliseconds(500));
  begin(3);
  pass(milliseconds(600));
  EXPECT_THAT(failed_, ElementsAre(1, 1));
  is_broken_ = false;
  up_.insert(3);
  pass(seconds(1));
  EXPECT_THAT(asked_, ElementsAre(1, 2));
  EXPECT_THAT(seen_, ElementsAre(2));
}

TEST_F(SharedPollerTest, an_older_listing_does_not_prove_a_removal) {
  latency_ = seconds(2);
  up_.insert(1);
  begin(2);
  pass(milliseconds(1500));  // a question is under way that shows machine 1
  scope_.spawn("a test's removal", see_without(*this, 1, listing_.await_removal()));
  up_.clear();
  pass(seconds(10));
  EXPECT_THAT(seen_, SizeIs(1));
}

// The listing is asked for after 1 s, sent after 21 s, and answered after 23 s.
TEST_F(SharedPollerTest, a_listing_proves_the_removals_before_it_was_sent) {
  queued_ = seconds(20);
  latency_ = seconds(1);
  remove(1);
  pass(seconds(10));
  remove(2);
  pass(seconds(12));
  remove(3);
  pass(seconds(1));
  EXPECT_THAT(seen_, ElementsAre(23, 23));
  pass(seconds(60));
  EXPECT_THAT(seen_, SizeIs(3)) << "a later listing";
}

// The first page is sent after 21 s, again after 22 s; the second page after 23 s.
TEST_F(SharedPollerTest, a_listing_is_as_old_as_the_last_attempt_of_its_first_page) {
  queued_ = seconds(20);
  attempts_ = {false, true, false};
  remove(1);
  pass(milliseconds(21'500));
  remove(2);
  pass(seconds(1));
  remove(3);
  pass(seconds(2));
  EXPECT_THAT(seen_, ElementsAre(24, 24));
}

TEST_F(SharedPollerTest, a_machine_of_an_earlier_launcher_is_polled_at_once) {
  up_.insert(1);
  scope_.spawn("a test's wait", wait_for(*this, 1, listing_.await_earlier()));
  settle();
  EXPECT_THAT(seen_, ElementsAre(0));
}

}  // namespace
}  // namespace nodepool::driver
