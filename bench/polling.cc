// List calls until machines are seen to be up, and how late they are seen: the learned polling of
// SharedPoller beside plain pauses that share each listing, too. In virtual time, so that the
// results are the same on every machine. Prints a table for each kind of boot times: means of
// kRounds rounds with 100 machines each.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/shared_result.h"
#include "async/task_scope.h"
#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/shared_poller.h"
#include "http/rate_governor.h"

namespace {

using namespace nodepool;  // NOLINT: a program
using namespace std::chrono_literals;
using async::Duration;
using async::Task;
using TimePoint = async::Clock::TimePoint;

constexpr int kRounds = 10;
constexpr int kMachines = 100;
constexpr int kMachinesBefore = 40;  // alone, to learn from
constexpr Duration kAlone = 300s;    // between two machines of which each is alone
constexpr Duration kCreateTakes = 1s;
constexpr Duration kListTakes = 300ms;
constexpr driver::PollIntervals kIntervals{.unknown = 1500ms, .least = 100ms};  // OpenStack's

Duration in_seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Duration log_normal(async::Random& random, double median, double spread) {
  const double radius = std::sqrt(-2 * std::log(1 - random.fraction()));
  const double normal = radius * std::cos(2 * std::numbers::pi * random.fraction());
  return in_seconds(median * std::exp(spread * normal));
}

struct Boots {
  std::string name;
  std::function<Duration(async::Random&)> draw;
};

const std::vector<Boots>& kinds_of_boots() {
  static const std::vector<Boots> all{
      {"log-normal, median 40 s, spread 25 %",
       [](async::Random& random) { return log_normal(random, 40, 0.25); }},
      {"log-normal, median 40 s, spread 5 %",
       [](async::Random& random) { return log_normal(random, 40, 0.05); }},
      {"log-normal, median 8 s, spread 10 %",
       [](async::Random& random) { return log_normal(random, 8, 0.1); }},
      {"bimodal: 70 % 25 s, 30 % 75 s, spread 10 % each",
       [](async::Random& random) {
         return log_normal(random, random.fraction() < 0.7 ? 25 : 75, 0.1);
       }},
  };
  return all;
}

struct Arrivals {
  std::string name;
  std::function<Duration(async::Random&)> gap;  // between two machines
  double calls_per_second = 0;                  // the limit of creates and lists; 0: none
};

const std::vector<Arrivals>& kinds_of_arrivals() {
  const auto at_once = [](async::Random&) { return Duration(); };
  static const std::vector<Arrivals> all{
      {"at once", at_once},
      {"one after another", [](async::Random&) { return kAlone; }},
      {"every 5 s",
       [](async::Random& random) { return in_seconds(-5 * std::log(1 - random.fraction())); }},
      {"at once, 5 calls per second", at_once, 5},
      {"at once, a call per second", at_once, 1},
  };
  return all;
}

// The pause before a waiter's next poll, by the number of listings that it has seen.
using Pause = std::function<Duration(int seen)>;

struct Policy {
  std::string name;
  Pause pause = {};         // nothing: learned
  bool is_deferred = true;  // learned: to the last queued create
};

// From 1 s on. Ten doublings exceed any `most`.
Pause doubling(Duration most) {
  return [most](int seen) { return std::min<Duration>(1s * (1 << std::min(seen, 10)), most); };
}

Pause constant(Duration pause) {
  return [pause](int) { return pause; };
}

const std::vector<Policy>& policies() {
  static const std::vector<Policy> all{
      {"learned", {}},
      {"learned, not deferred", {}, false},
      {"doubling, 1 to 10 s", doubling(10s)},
      {"doubling, 1 to 30 s", doubling(30s)},
      {"every 1 s", constant(1s)},
      {"every 1.5 s", constant(1500ms)},
      {"every 2 s", constant(2s)},
      {"every 3 s", constant(3s)},
      {"every 5 s", constant(5s)},
      {"every 10 s", constant(10s)},
  };
  return all;
}

struct Result {
  int calls = 0;
  std::vector<double> late;  // from each machine's readiness until it is seen
  double all = 0;            // from the first request until the last machine is seen
};

// A cloud and a launcher that wait for machines with one policy.
class World {
 public:
  World(const Policy& policy, const Boots& boots, std::uint64_t seed)
      : policy_(policy), boots_(boots), random_(seed) {}

  Result run(const Arrivals& arrivals) {
    for (int i = 0; i < kMachinesBefore; ++i) begin_launch(TimePoint() + i * kAlone);
    const TimePoint first = TimePoint() + kMachinesBefore * kAlone;
    pass_until(first);
    calls_ = 0;
    late_.clear();
    rate_.set_rate(arrivals.calls_per_second);
    TimePoint when = first;
    for (int i = 0; i < kMachines; ++i, when += arrivals.gap(random_)) begin_launch(when);
    pass_until(TimePoint::max());
    return {calls_, late_, seconds_of(last_seen_ - first)};
  }

 private:
  void begin_launch(TimePoint when) {
    scope_.spawn("launch", policy_.pause ? launch_plainly(*this, when, boots_.draw(random_))
                                         : launch(*this, when, boots_.draw(random_)));
  }

  void pass_until(TimePoint end) {
    while (true) {
      while (loop_.poll()) {
      }
      if (scope_.empty() || clock_.next_wakeup() >= end) break;
      clock_.advance_to(clock_.next_wakeup());
    }
  }

  // Like the drivers.
  static Task<> launch(World& world, TimePoint when, Duration boot) {
    co_await world.clock_.sleep_until(when);
    const std::optional<driver::Expectation> expected = world.times_.expectation();
    std::optional<Poller::PendingCreate> pending;
    if (world.policy_.is_deferred) pending.emplace(world.poller_);
    co_await world.create();
    const TimePoint up = world.clock_.now() + boot;
    driver::PollWaiter awaited = pending ? pending->await(expected) : world.poller_.await(expected);
    pending.reset();
    TimePoint shown{};
    while (shown < up) shown = *co_await world.poller_.next(awaited);
    world.see(up);
    const std::optional<Duration> taken = awaited.taken();
    if (taken) world.times_.learn(*taken);
  }

  static Task<> launch_plainly(World& world, TimePoint when, Duration boot) {
    co_await world.clock_.sleep_until(when);
    co_await world.create();
    const TimePoint up = world.clock_.now() + boot;
    for (int seen = 0; world.shown_ < up; ++seen) {
      const TimePoint due = world.clock_.now() + world.policy_.pause(seen);
      const int last = world.listings_;
      while (world.listings_ == last && world.clock_.now() < due) {
        co_await world.listed_.wait_until(world.clock_, due);
      }
      if (world.listings_ == last) co_await world.shared_.next();
    }
    world.see(up);
  }

  Task<> create() {
    co_await rate_.turn(http::Precedence::creation);
    co_await clock_.sleep_for(kCreateTakes);
  }

  void see(TimePoint up) {
    last_seen_ = clock_.now();
    late_.push_back(seconds_of(last_seen_ - up));
  }

  // Lists the machines; returns the time whose state it shows.
  Task<TimePoint> list() {
    co_await rate_.turn(http::Precedence::read);
    const TimePoint shown = clock_.now();
    ++calls_;
    co_await clock_.sleep_for(kListTakes);
    ++listings_;
    shown_ = shown;
    listed_.set();
    co_return shown;
  }

  using Poller = driver::SharedPoller<TimePoint>;

  const Policy& policy_;
  const Boots& boots_;
  async::Random random_;
  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  http::RateGovernor rate_{clock_};
  int calls_ = 0;
  int listings_ = 0;
  TimePoint shown_{};
  async::Event listed_;
  async::SharedResult<TimePoint> shared_{runtime_, "machines", [this] { return list(); }};
  Poller poller_{runtime_, "machines", kIntervals, [this] { return list(); }};
  driver::BootTimes times_;
  std::vector<double> late_;
  TimePoint last_seen_{};
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            throw std::runtime_error(name + ": " + error);
                          }};
};

void measure(const Policy& policy, const Boots& boots, const Arrivals& arrivals) {
  double calls = 0;
  double all = 0;
  std::vector<double> late;
  for (int round = 0; round < kRounds; ++round) {
    const Result result = World(policy, boots, round).run(arrivals);
    calls += result.calls;
    all += result.all;
    late.insert(late.end(), result.late.begin(), result.late.end());
  }
  std::ranges::sort(late);
  const auto count = static_cast<double>(late.size());
  fmt::print("| {} | {} | {:.0f} | {:.1f} | {:.1f} | {:.0f} |\n", arrivals.name, policy.name,
             calls / kRounds, std::reduce(late.begin(), late.end()) / count,
             late[static_cast<std::size_t>(0.95 * (count - 1))], all / kRounds);
}

}  // namespace

int main() {
  for (const Boots& boots : kinds_of_boots()) {
    fmt::print(
        "{}\n\n| machines | polls | list calls | late, mean s | late, p95 s | all seen, s |\n",
        boots.name);
    fmt::print("|---|---|---|---|---|---|\n");
    for (const Arrivals& arrivals : kinds_of_arrivals()) {
      for (const Policy& policy : policies()) measure(policy, boots, arrivals);
    }
    fmt::print("\n");
  }
  return 0;
}
