#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "async/runtime.h"
#include "async/task_scope.h"

namespace nodepool::launcher {

// How long work is left to the preferred launcher, when several serve a pool.
inline constexpr async::Duration kPeerPause = std::chrono::seconds(1);

// Leaves work to another worker for a while, and does it if it is still undone then.
class PeerDeferral {
 public:
  // `what`: the subject of the work, for the names of tasks: "request". `reevaluate` is called when
  // the pause of an id is over. The tasks belong to `scope`.
  PeerDeferral(const async::Runtime& runtime, async::TaskScope& scope, std::string_view what,
               std::function<void(const std::string& id)> reevaluate);

  // Returns true for `pause` after the first call, then false once. The next call starts again.
  bool defers(const std::string& id, async::Duration pause);

  // The work is done, or no longer deferred.
  void forget(const std::string& id) { until_.erase(id); }

 private:
  async::Task<> wait(std::string id, async::Duration pause);

  async::Runtime runtime_;
  async::TaskScope& scope_;
  std::string what_;
  std::function<void(const std::string& id)> reevaluate_;
  std::map<std::string, async::Clock::TimePoint, std::less<>> until_;
};

}  // namespace nodepool::launcher
