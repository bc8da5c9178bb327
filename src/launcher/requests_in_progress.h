#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "async/task_scope.h"
#include "launcher/context.h"
#include "launcher/node_request_handler.h"
#include "launcher/retry_pauses.h"
#include "planning/pool_stock.h"
#include "planning/verdict.h"

namespace nodepool::launcher {

// The requests of one pool that have a handler, each in a task of its own. Their nodes and launches
// are reserved meanwhile. When a handler has ended, decides when the pool evaluates the request
// again.
class RequestsInProgress {
 public:
  // What the pool receives.
  struct Observer {
    // A handler has ended: there may be capacity for other requests.
    std::function<void()> handler_ended;
    // The request may wait again, or have interrupted launches.
    std::function<void(const std::string& request_id)> evaluate;
    // A node was reserved for a request and is no longer.
    std::function<void(const std::string& node_id)> no_longer_reserved;
  };

  // `scope` is the pool's, and has ended before this. What is passed by reference outlives this.
  RequestsInProgress(const ServingContext& context, const planning::PoolIdentity& pool,
                     planning::PoolStock& stock, telemetry::Logger log, async::TaskScope& scope,
                     Observer observer);

  bool contains(std::string_view request_id) const { return ids_.contains(request_id); }
  std::size_t size() const { return ids_.size(); }

  // Carry out a decision about a request that is not in progress, in a task.
  void fulfil(const model::NodeRequest& request, ProviderInService provider,
              planning::Verdict verdict);
  void decline(const model::NodeRequest& request, planning::Reason reason);

  // Resumes the launches of a pending request that is not in progress. Returns when the request has
  // been evaluated again. Throws Cancelled.
  Task<> resume(std::string request_id, ProviderInService provider);

  // The next outdated decision about the request is its first one: it has ended.
  void forget_pauses(const std::string& request_id) { retries_.forget(request_id); }

  // After the end of the scope: frees what its cancelled tasks had reserved.
  void drop_reservations();

 private:
  // The outcome of a handler, or why it failed.
  enum class Result {
    done,
    try_again,
    locked,
    too_large,  // for the store
    failed,
  };

  void reserve(const model::NodeRequest& request, const ProviderInService& provider,
               planning::ReservationSpec reservation);
  void drop_reservation(const std::string& request_id);
  Task<> run_fulfilment(std::string request_id, ProviderInService provider,
                        planning::QuotaBounds bounds, HandledRequests::Mark mark);
  Task<> run_decline(std::string request_id, planning::Reason reason, HandledRequests::Mark mark);
  Task<Result> result_of(std::string request_id, Task<NodeRequestHandler::Outcome> work);
  Task<> end(std::string request_id, Result result);
  async::Duration pause_after(const std::string& request_id, Result result);

  const ServingContext& context_;
  const planning::PoolIdentity& pool_;
  planning::PoolStock& stock_;
  telemetry::Logger log_;
  async::TaskScope& scope_;
  Observer observer_;
  std::set<std::string, std::less<>> ids_;
  std::map<std::string, std::unique_ptr<planning::Reservation>, std::less<>> reservations_;
  RetryPauses retries_;
};

}  // namespace nodepool::launcher
