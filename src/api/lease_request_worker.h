#pragma once

#include <map>
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

// How long what has become of a failed order is kept for its owner to see, in seconds.
inline constexpr double kFailureIsKept = 600;

// Brings orders to their end, whoever placed them: it leases the nodes of those that have been
// fulfilled, withdraws those that nobody waits for any longer, and forgets failed ones after a
// while. Every launcher that serves the API has one; a lock decides between them, and orders that
// were placed elsewhere are left to the others for a moment. It sleeps until the next one is due.
class LeaseRequestWorker {
 public:
  // All outlive this.
  LeaseRequestWorker(const async::Runtime& runtime, coordination::Store& store,
                     model::Records& records, LeaseIndex& lease_index,
                     const telemetry::Logger& log);

  // Begins to work.
  void start();
  async::Task<> stop();

  // The order was placed here.
  void adopt(const std::string& id);

 private:
  void reevaluate(const std::string& id);
  void schedule(const std::string& id, double when);
  void forget(const std::string& id);
  double due(const std::string& id) const;
  async::Task<> run();
  async::Task<> forget_keys();
  async::Task<> serve(std::string id);
  async::Task<> end(std::string id);

  async::Runtime runtime_;
  coordination::Store& store_;
  model::Records& records_;
  LeaseIndex& lease_index_;
  telemetry::Logger log_;
  std::set<std::string> adopted_;
  std::set<std::string> attended_;                     // what a task is busy with
  std::map<std::string, double> due_;                  // id -> seconds since the epoch
  std::set<std::pair<double, std::string>> next_due_;  // the same, by time
  async::Event changed_{"the next order that is due changed"};
  coordination::Subscription changes_;
  async::TaskScope scope_;
};

}  // namespace nodepool::api
