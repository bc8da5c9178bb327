#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "async/runtime.h"
#include "async/task_scope.h"

namespace nodepool::launcher {

// How long work is left to the launcher that it falls to, when several serve a pool.
inline constexpr async::Duration kPeerPause = std::chrono::seconds(1);

// Work that somebody else is to do: it is left to them for a while. Whoever finds it undone then
// does it.
class PeerDeferral {
 public:
  // `what` the work is about, for the names of tasks: "request". `reevaluate_in` is called when the
  // time of such a thing is over. The tasks are `scope`'s.
  PeerDeferral(const async::Runtime& runtime, async::TaskScope& scope, std::string_view what,
               std::function<void(const std::string& id)> reevaluate_in);

  // Whether the work on `id` is left to them now: for `pause` from the first call on. The next call
  // says no, and with the one after that it begins anew.
  bool leaves(const std::string& id, async::Duration pause);

  // It is done, or falls to nobody else any more.
  void forget(const std::string& id) { until_.erase(id); }

 private:
  async::Task<> wait(std::string id, async::Duration pause);

  async::Runtime runtime_;
  async::TaskScope& scope_;
  std::string what_;
  std::function<void(const std::string& id)> look_again_;
  std::map<std::string, async::Clock::TimePoint, std::less<>> until_;
};

}  // namespace nodepool::launcher
