#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "api/lease_index.h"
#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "model/records.h"
#include "telemetry/log.h"

namespace nodepool::api {

// How long a failed lease request is kept for its owner to read, in seconds.
inline constexpr double kFailureRetention = 600;

// Completes lease requests: it leases the nodes of fulfilled ones, withdraws expired ones, also if
// they are fulfilled too late, and removes failed ones after kFailureRetention. Every launcher that
// serves the API has one; a lock decides between them. For requests that another launcher received,
// that launcher has precedence for 2 seconds. The worker sleeps until the next request is due.
class LeaseRequestWorker {
 public:
  // All arguments outlive this.
  LeaseRequestWorker(const async::Runtime& runtime, coordination::Store& store,
                     model::Records& records, LeaseIndex& lease_index,
                     const telemetry::Logger& log);

  // Starts the background tasks.
  void start();
  async::Task<> stop();

  // Marks a request as received by this launcher.
  void adopt(const std::string& id);

 private:
  void reevaluate(const std::string& id);
  void reevaluate_all();
  void unschedule(const std::string& id);
  std::optional<double> due(const std::string& id) const;
  async::Task<> run();
  async::Task<> remove_old_keys();
  async::Task<> serve(std::string id);
  async::Task<> complete(std::string id);

  async::Runtime runtime_;
  coordination::Store& store_;
  model::Records& records_;
  LeaseIndex& lease_index_;
  telemetry::Logger log_;
  std::set<std::string> adopted_;
  std::set<std::string> in_progress_;                  // requests that a task serves or retries
  std::map<std::string, double> due_;                  // id -> seconds since the epoch
  std::set<std::pair<double, std::string>> next_due_;  // the same, by time
  async::Event changed_{"the next due lease request changed"};
  coordination::Subscription changes_;
  async::TaskScope scope_;
};

}  // namespace nodepool::api
