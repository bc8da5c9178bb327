#pragma once

#include <functional>
#include <set>
#include <string>

#include "async/task_scope.h"
#include "launcher/context.h"
#include "launcher/requests_in_progress.h"

namespace nodepool::launcher {

// Has the launches of one pool resumed that another launcher, or this one before a restart, has
// begun: those of pending requests for labels of the pool whose nodes are not locked. Each is
// evaluated again after a pause, because the tables may be stale and its launcher alive.
class InterruptedLaunches {
 public:
  // Whether this launcher is the first to resume the request's launches, if several serve the pool.
  using IsPreferred = std::function<bool(const model::NodeRequest& request)>;

  // `provider` is the pool's at any moment; a reload replaces it. `scope` is the pool's, and has
  // ended before this. What is passed by reference outlives this.
  InterruptedLaunches(const ServingContext& context, const planning::PoolIdentity& pool,
                      const ProviderInService& provider, RequestsInProgress& requests,
                      async::TaskScope& scope, IsPreferred is_preferred);

  // To be called for requests that have changed or may have been interrupted, and for nodes that
  // have changed or been unlocked.
  void evaluate(const model::NodeRequest& request);
  void evaluate(const model::Node& node);

 private:
  bool is_own(const model::Node& node) const;
  bool offers_all_labels(const model::NodeRequest& request) const;
  bool is_interrupted(const model::NodeRequest& request) const;
  Task<> resume_later(std::string request_id);

  const ServingContext& context_;
  const planning::PoolIdentity& pool_;
  const ProviderInService& provider_;
  RequestsInProgress& requests_;
  async::TaskScope& scope_;
  IsPreferred is_preferred_;
  std::set<std::string, std::less<>> pausing_;  // requests
};

}  // namespace nodepool::launcher
