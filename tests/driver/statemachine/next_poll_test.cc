#include "driver/statemachine/next_poll.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/shared_poller.h"

namespace nodepool::driver {
namespace {

using async::Duration;
using std::chrono::milliseconds;
using std::chrono::seconds;
using TimePoint = async::Clock::TimePoint;

constexpr PollIntervals kHabit{.unknown = seconds(1), .least = milliseconds(20)};

TimePoint at(double time) {
  return TimePoint() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(time));
}

double in_seconds(TimePoint time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

BootTimes known(std::initializer_list<double> taken) {
  BootTimes times;
  for (const double one : taken) times.learn(at(one) - at(0));
  return times;
}

TEST(BootTimes, are_surer_the_more_have_been_seen) {
  BootTimes times;
  EXPECT_FALSE(times.expectation());
  times.learn(seconds(64));
  EXPECT_EQ(times.expectation(), (Expectation{.earliest = seconds(48),
                                              .usual = seconds(64),
                                              .latest = seconds(80),
                                              .step = Duration(seconds(64)) / 24}));
  for (int i = 0; i < 31; ++i) times.learn(seconds(64));
  EXPECT_EQ(times.expectation(), (Expectation{.earliest = milliseconds(63'500),
                                              .usual = seconds(64),
                                              .latest = milliseconds(64'500),
                                              .step = seconds(1)}));
}

TEST(BootTimes, few_that_differ_do_not_count_and_old_ones_are_forgotten) {
  BootTimes times = known({600});
  for (int i = 0; i < 20; ++i) times.learn(seconds(10));
  EXPECT_LT(times.expectation()->latest, seconds(11));
  for (int i = 0; i < 100; ++i) times.learn(seconds(2));
  EXPECT_EQ(times.samples().size(), BootTimes::kMaxSamples);
  EXPECT_LT(times.expectation()->latest, seconds(3));
}

TEST(BootTimes, of_before_are_older_than_what_has_been_seen_since) {
  std::vector<double> learned;
  BootTimes times([&learned](Duration taken) { learned.push_back(in_seconds(at(0) + taken)); });
  times.learn(seconds(7));
  times.restore({5, 6});
  EXPECT_EQ(times.samples(), (std::deque<Duration>{seconds(5), seconds(6), seconds(7)}));
  EXPECT_EQ(learned, (std::vector<double>{7}));
  times.restore(std::vector<double>(100, 4.0));
  EXPECT_EQ(times.samples().size(), BootTimes::kMaxSamples);
  EXPECT_EQ(times.samples().back(), seconds(7));
}

// A machine is made at 100 s.
TEST(NextLook, is_planned_by_what_is_known) {
  const std::optional<Expectation> nothing;
  const Expectation slow{
      .earliest = seconds(40), .usual = seconds(60), .latest = seconds(80), .step = seconds(2)};
  struct Case {
    std::string what;
    std::optional<double> made;
    std::optional<Expectation> expected;
    std::optional<double> last_poll;
    double next;
  };
  for (const auto& [what, made, expected, last_poll, next] :
       std::vector<Case>{{"nobody has looked", 100, nothing, {}, 101},
                         {"somebody has, before it was made", 100, nothing, 99.5, 101},
                         {"somebody has", 100, nothing, 107, 108},
                         {"of an earlier launcher, somebody has looked", {}, nothing, 107, 108},
                         {"in the middle, should it have become faster", 100, slow, {}, 130},
                         {"somebody has looked in the middle", 100, slow, 121, 142},
                         {"as soon as it may be up", 100, slow, 139, 142},
                         {"while it may come up any moment", 100, slow, 150, 152},
                         {"to the end", 100, slow, 179, 181},
                         {"a little later than ever", 100, slow, 181, 183},
                         {"later", 100, slow, 190, 195},
                         {"much later", 100, slow, 500, 507.5},
                         {"another was looked for just now", 100,
                          Expectation{.earliest = milliseconds(100),
                                      .usual = milliseconds(100),
                                      .latest = milliseconds(100),
                                      .step = milliseconds(2)},
                          100.1, 100.12}}) {
    const auto last = last_poll ? std::optional(at(*last_poll)) : std::nullopt;
    const auto begun = made ? std::optional(at(*made)) : std::nullopt;
    EXPECT_NEAR(in_seconds(next_poll(begun, expected, last, kHabit)), next, 1e-6) << what;
  }
  EXPECT_LE(next_poll({}, nothing, {}, kHabit), at(0)) << "at once";
}

struct Course {
  int looks = 0;
  std::vector<double> late;  // seconds between the time a machine is up and the look that shows it

  double mean_late() const {
    double sum = 0;
    for (const double one : late) sum += one;
    return sum / static_cast<double>(late.size());
  }
};

// Machines are made at the given times, in seconds, and take as long as `boot` says; what is seen
// is learned.
Course follow(const std::vector<double>& made_at, BootTimes& times, const PollIntervals& pace,
              const std::function<double()>& boot) {
  struct Machine {
    TimePoint made;
    TimePoint up;
    std::optional<Expectation> expected;
  };
  Course course;
  std::vector<Machine> waiting;
  std::optional<TimePoint> last;
  std::size_t next_made = 0;
  while (next_made < made_at.size() || !waiting.empty()) {
    TimePoint look = TimePoint::max();
    for (const Machine& machine : waiting) {
      look = std::min(look, next_poll(machine.made, machine.expected, last, pace));
    }
    if (next_made < made_at.size() && at(made_at[next_made]) <= look) {
      const TimePoint made = at(made_at[next_made++]);
      waiting.push_back({made, made + (at(boot()) - at(0)), times.expectation()});
      continue;
    }
    ++course.looks;
    std::erase_if(waiting, [&](const Machine& machine) {
      if (machine.up > look) return false;
      course.late.push_back(in_seconds(look) - in_seconds(machine.up));
      const PollWaiter awaited{.since = machine.made,
                               .expected = machine.expected,
                               .seen_at = look,
                               .gap = look - std::max(last.value_or(machine.made), machine.made)};
      times.learn(*awaited.taken());
      return true;
    });
    last = look;
  }
  return course;
}

// One after another, each when the one before has come up.
std::vector<double> one_by_one(int count, double every) {
  std::vector<double> made;
  for (int i = 0; i < count; ++i) made.push_back(i * every);
  return made;
}

TEST(NextLook, a_fast_cloud_is_followed_within_tens_of_milliseconds) {
  BootTimes times;
  const std::function<double()> boot = [] { return 0.1; };
  follow(one_by_one(20, 2), times, kHabit, boot);
  const Course course = follow(one_by_one(20, 2), times, kHabit, boot);
  EXPECT_LT(course.mean_late(), 0.02);
  EXPECT_LT(*std::ranges::max_element(course.late), 0.04);
  EXPECT_LE(course.looks, 20 * 4);
}

TEST(NextLook, a_slow_cloud_is_asked_less_often_and_as_early) {
  for (const double spread : {0.0, 2.0, 20.0}) {
    BootTimes times;
    std::mt19937 random(1);
    std::uniform_real_distribution<double> drawn(60 - spread, 60 + spread);
    const std::function<double()> boot = [&] { return drawn(random); };
    follow(one_by_one(40, 100), times, kHabit, boot);
    const Course course = follow(one_by_one(40, 100), times, kHabit, boot);
    EXPECT_LT(course.looks, 40 * (spread > 10 ? 15 : 6))
        << "60 at a look a second; spread " << spread;
    EXPECT_LT(course.mean_late(), spread > 10 ? 2.5 : 1.5) << spread;
  }
}

TEST(NextLook, a_cloud_that_changes_is_followed) {
  BootTimes times;
  double takes = 60;
  const std::function<double()> boot = [&] { return takes; };
  for (const double now : {60.0, 6.0, 30.0, 1.0, 90.0}) {
    takes = now;
    follow(one_by_one(60, 200), times, kHabit, boot);
    const Course course = follow(one_by_one(20, 200), times, kHabit, boot);
    EXPECT_LT(course.mean_late(), std::max(0.1, takes / 20)) << now;
  }
}

TEST(NextLook, a_hundred_machines_share_polls) {
  BootTimes times;
  const std::function<double()> boot = [] { return 60.0; };
  follow(one_by_one(40, 100), times, kHabit, boot);
  const std::vector<double> together(100, 0.0);
  EXPECT_LE(follow(together, times, kHabit, boot).looks, 5);
  const Course course = follow(one_by_one(100, 0.1), times, kHabit, boot);
  EXPECT_LE(course.looks, 15) << "over ten seconds";
}

}  // namespace
}  // namespace nodepool::driver
