#include "driver/statemachine/next_look.h"

#include <algorithm>

namespace nodepool::driver {

namespace {

using TimePoint = async::Clock::TimePoint;

// What is later than ever is looked at after as much of its delay again; at most after this part of
// the usual time, or as often as what nobody knows.
constexpr int kPartOfDelay = 2;
constexpr int kPartOfUsual = 8;

TimePoint look_when_expected(TimePoint made, const Expectation& expected, TimePoint seen_at,
                             const LookPace& pace) {
  const TimePoint earliest = made + expected.earliest;
  const TimePoint latest = made + expected.latest;
  if (seen_at < made + expected.earliest / 2) return made + expected.earliest * 3 / 4;
  if (seen_at < latest) return std::max(seen_at, earliest) + expected.step;
  const async::Duration most = std::max(pace.unknown, expected.usual / kPartOfUsual);
  const async::Duration pause = std::min((seen_at - latest) / kPartOfDelay, most);
  return seen_at + std::max(pause, expected.step);
}

}  // namespace

TimePoint next_look(std::optional<TimePoint> made, const std::optional<Expectation>& expected,
                    std::optional<TimePoint> last_look, const LookPace& pace) {
  if (!made) return last_look ? *last_look + pace.unknown : TimePoint::min();
  const TimePoint seen_at = std::max(*made, last_look.value_or(*made));
  const TimePoint due =
      expected ? look_when_expected(*made, *expected, seen_at, pace) : seen_at + pace.unknown;
  return last_look ? std::max(due, *last_look + pace.least) : due;
}

}  // namespace nodepool::driver
