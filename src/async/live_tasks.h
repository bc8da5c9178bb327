#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/intrusive/list_hook.hpp>

#include "async/clock.h"
#include "async/task.h"

namespace nodepool::async {

// What a task does at one moment.
struct LiveTask {
  struct Wait {
    std::string what;              // "event: a node changed"
    Duration since;                // how long it has waited
    std::optional<Duration> left;  // until the wait ends by itself; negative when overdue
  };

  std::string name;         // as spawned
  Duration age;             // since it was spawned
  std::vector<Wait> waits;  // outermost first: what a wait is part of comes before it
};

// All tasks that TaskScopes have spawned on the event loop of `executor` and that have not ended,
// oldest first. Call it on the loop.
std::vector<LiveTask> live_tasks(const Executor& executor);

// Says what the running task waits for, for as long as it exists. It lives in the frame of the
// coroutine that waits, next to its co_await:
//
//   const WaitsFor waits(co_await boost::asio::this_coro::executor, "store: read", path);
//
// It costs no allocation and makes no text. In a task that no TaskScope has spawned it does
// nothing.
class WaitsFor : public boost::intrusive::list_base_hook<
                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  // `executor` is the running coroutine's. `what` and `detail` refer to texts that outlive this
  // object; a dump shows them as "what detail". `until` is when the wait ends by itself.
  WaitsFor(const Executor& executor, std::string_view what, std::string_view detail = {},
           std::optional<Clock::TimePoint> until = std::nullopt);
  WaitsFor(const WaitsFor&) = delete;
  WaitsFor& operator=(const WaitsFor&) = delete;

  LiveTask::Wait describe(Clock::TimePoint now) const;
  const std::optional<Clock::TimePoint>& until() const { return until_; }

 private:
  std::string_view what_;
  std::string_view detail_;
  Clock::TimePoint since_;
  std::optional<Clock::TimePoint> until_;
};

}  // namespace nodepool::async
