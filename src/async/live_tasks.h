#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/intrusive/list_hook.hpp>

#include "async/clock.h"
#include "async/task.h"

namespace nodepool::async {

// A snapshot of a task.
struct LiveTask {
  struct Wait {
    std::string what;              // "event: a node changed"
    Duration since;                // the time waited so far
    std::optional<Duration> left;  // until the wait ends by itself; negative if overdue
  };

  std::string name;         // as spawned
  Duration age;             // since it was spawned
  std::vector<Wait> waits;  // outermost first
};

// The running tasks that TaskScopes have spawned on the event loop of `executor`, oldest first.
// Call it on the loop.
std::vector<LiveTask> live_tasks(const Executor& executor);

// Describes a wait of the running task while this exists. It lives in the frame of the waiting
// coroutine, next to its co_await:
//
//   const WaitsFor waits(co_await boost::asio::this_coro::executor, "store: read", path);
//
// It does not allocate or format. It does nothing in a task that was not spawned by a TaskScope.
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
