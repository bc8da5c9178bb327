#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "launcher/context.h"

namespace nodepool::launcher {

// Ends leases that have expired: their nodes become `used` and unlocked, and go back to their
// provider like any other. It sleeps until the next lease expires.
class LeaseWorker {
 public:
  explicit LeaseWorker(LauncherContext& context);

  // Begins to work.
  void start();

  // Ends the work in progress.
  Task<> stop();

 private:
  void look_at(const std::string& id);
  void forget(const std::string& id);
  Task<> run();
  Task<> reclaim(std::string id);

  LauncherContext& context_;
  telemetry::Logger log_;
  std::map<std::string, double, std::less<>> expiry_;        // node id -> seconds since the epoch
  std::set<std::pair<double, std::string>> next_to_expire_;  // the same, by time
  async::Event changed_;
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
