#include "driver/statemachine/next_poll.h"

#include <algorithm>

namespace nodepool::driver {

namespace {

using TimePoint = async::Clock::TimePoint;

// After the latest expected time, the pause is this fraction of the delay, limited by this fraction
// of the usual time or PollIntervals::unknown, whichever is longer.
constexpr int kPartOfDelay = 2;
constexpr int kPartOfUsual = 8;

TimePoint poll_when_expected(TimePoint made, const Expectation& expected, TimePoint seen_at,
                             const PollIntervals& intervals) {
  const TimePoint earliest = made + expected.earliest;
  const TimePoint latest = made + expected.latest;
  if (seen_at < made + expected.earliest / 2) return made + expected.earliest * 3 / 4;
  if (seen_at < latest) return std::max(seen_at, earliest) + expected.step;
  const async::Duration most = std::max(intervals.unknown, expected.usual / kPartOfUsual);
  const async::Duration pause = std::min((seen_at - latest) / kPartOfDelay, most);
  return seen_at + std::max(pause, expected.step);
}

}  // namespace

TimePoint next_poll(std::optional<TimePoint> made, const std::optional<Expectation>& expected,
                    std::optional<TimePoint> last_poll, const PollIntervals& intervals) {
  if (!made) return last_poll ? *last_poll + intervals.unknown : TimePoint::min();
  const TimePoint seen_at = std::max(*made, last_poll.value_or(*made));
  const TimePoint due = expected ? poll_when_expected(*made, *expected, seen_at, intervals)
                                 : seen_at + intervals.unknown;
  return last_poll ? std::max(due, *last_poll + intervals.least) : due;
}

}  // namespace nodepool::driver
