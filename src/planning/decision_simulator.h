#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planning/verdict.h"

namespace nodepool::planning {

// What somebody who sees the records alone knows of the requests that wait for a pool: the verdicts
// of the pool's worker if it began at this moment. The requests are gone through in order of
// service; those that would be accepted take what they need from the ones behind them.
class DecisionSimulator {
 public:
  // What all pools share. Everything outlives the outlook.
  struct Records {
    double now = 0;  // seconds since the epoch
    const model::NodeTable& nodes;
    const model::RequestTable& requests;
    std::vector<const model::Component*> pools;  // all that are registered
    const TenantLimits& tenant_limits;
    ResourceUsage& usage;
    // As Facts::expected_pool.
    std::function<std::string(const model::NodeRequest&)> expected_pool;
  };

  // `provider` is that of the pool `own`; it need not have been started. `quota`: what its cloud
  // says, if it was asked.
  DecisionSimulator(Records records, const model::Component& own,
                    std::shared_ptr<driver::Provider> provider, QuotaFacts quota);

  // Nothing if the request does not wait.
  std::optional<Decision> decision_about(const std::string& request_id);

 private:
  // Up to and with this request.
  void go_on_to(const std::string& request_id);
  Decision decide_next(const model::NodeRequest& request);

  Records records_;
  const model::Component& own_;
  std::shared_ptr<driver::Provider> provider_;
  PoolIdentity identity_;
  QuotaFacts quota_;
  PoolStock stock_;
  RequestQueue line_;
  std::shared_ptr<LaunchCount> launches_ = std::make_shared<LaunchCount>();
  std::optional<model::NodeRequest::ServiceKey> last_;  // of those gone through
  std::map<std::string, Decision, std::less<>> decisions_;
  std::vector<std::unique_ptr<Reservation>> reservations_;
};

}  // namespace nodepool::planning
