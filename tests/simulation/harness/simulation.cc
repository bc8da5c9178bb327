#include "tests/simulation/harness/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tests/simulation/harness/chance.h"
#include "tests/simulation/harness/disasters.h"
#include "tests/simulation/harness/installation.h"

namespace nodepool::simulation {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// A mishap may also come at any step, whatever the time.
constexpr double kChanceOfMishapAtAStep = 0.001;

// How long the answer to one request may take once all is in order: builds and leases that hold the
// nodes end within minutes.
constexpr auto kTimeToAnswer = minutes(40);
constexpr auto kTimeToTidyUp = minutes(10);
constexpr auto kTimeAtRest = minutes(10);

// How often the launchers together may have something to do in kTimeAtRest: to see that nothing is
// to be done, and, every minute for every provider, that it has no leaks. One that looks every
// second is found.
constexpr std::uint64_t kMostTurnsAtRest = 300;

coordination::FaultPlan draw_faults(async::Random& random) {
  coordination::FaultPlan plan;
  const auto draw = [&random](double most) {
    return chance(random, 0.5) ? 0 : most * random.fraction();
  };
  if (chance(random, 0.7)) {
    plan.disconnected = draw(0.04);
    plan.lost_request = draw(0.04);
    plan.lost_answer = draw(0.04);
    plan.lost_session = draw(0.005);
    plan.extra_resync = draw(0.05);
    plan.lost_event = draw(0.05);
  }
  plan.delay = chance(random, 0.2) ? 0.2 : 1;
  plan.longest_delay = milliseconds(between(random, 1, 300));
  return plan;
}

void go_through_trouble(World& world, Installation& installation, const Disasters& disasters) {
  const bool eventful = chance(world.random, 0.8);
  const async::Clock::TimePoint end =
      world.clock.now() + std::max(seconds_between(world.random, 60, 420), disasters.end());
  const double pause = world.random.fraction() * 120 + 1;
  const auto draw_pause = [&] { return seconds_between(world.random, 0, 2 * pause); };
  async::Clock::TimePoint next = world.clock.now() + draw_pause();
  while (world.clock.now() < end) {
    installation.step(std::min(end, next));
    const bool due = world.clock.now() >= next;
    if (due) next = world.clock.now() + draw_pause();
    if (eventful && (due || chance(world.random, kChanceOfMishapAtAStep))) installation.mishap();
  }
}

void come_to_rest(World& world, Installation& installation) {
  installation.calm_down();
  // Many may wait for one host: then some of them are answered all the time.
  std::size_t waited = std::numeric_limits<std::size_t>::max();
  do {
    waited = std::min(waited, installation.unanswered());
    installation.run_until(world.clock.now() + kTimeToAnswer);
  } while (installation.unanswered() > 0 && installation.unanswered() < waited);
  installation.check_answered();
  installation.run_until(world.clock.now() + kTimeToTidyUp);
  installation.check_rest();

  const bool stock_is_kept = installation.min_ready_is_met();
  const std::uint64_t transactions = installation.auditor().transactions();
  const std::uint64_t turns = installation.turns_of_launchers();
  installation.run_until(world.clock.now() + kTimeAtRest);
  const std::uint64_t worked = installation.turns_of_launchers() - turns;
  const std::uint64_t written = installation.auditor().transactions() - transactions;
  if (!stock_is_kept) return;  // somebody keeps asking
  if (written > 0) world.journal.violation(fmt::format("{} writes at rest", written));
  if (worked > kMostTurnsAtRest) {
    world.journal.violation(fmt::format("launchers had to work {} times at rest", worked));
  }
}

}  // namespace

Report simulate(std::uint64_t seed, bool keep_log) {
  World world(seed, keep_log);
  {
    const Disasters disasters = draw_disasters(seed);
    Installation installation(world, draw_faults(world.random), disasters);
    try {
      go_through_trouble(world, installation, disasters);
      come_to_rest(world, installation);
    } catch (const Stuck& stuck) {
      world.journal.violation(stuck.what());
    }
  }
  Report report;
  report.seed = seed;
  report.violations = world.journal.violations();
  report.log = world.journal.lines();
  report.log_hash = world.journal.hash();
  report.counts = world.journal.counts();
  report.events = world.journal.events();
  report.virtual_hours =
      std::chrono::duration<double, std::ratio<3600>>(world.clock.now().time_since_epoch()).count();
  return report;
}

}  // namespace nodepool::simulation
