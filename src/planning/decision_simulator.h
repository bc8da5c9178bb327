#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planning/verdict.h"

namespace nodepool::planning {

// Simulates the decisions of a pool's worker about waiting requests from the records, as if it
// started now. Decides the requests in order of service; accepted ones reserve capacity, which
// later ones then lack.
class DecisionSimulator {
 public:
  // The input common to all pools. Everything outlives the simulator.
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

  // `provider` and `offer` are those of the pool `own`; `provider` outlives the simulator. `quota`:
  // from its cloud, if it was asked.
  DecisionSimulator(Records records, const model::Component& own,
                    const driver::ProviderConfig& provider,
                    std::shared_ptr<const driver::Offer> offer, QuotaFacts quota);

  // Returns nothing if the request does not wait.
  std::optional<Decision> decision_about(const std::string& request_id);

 private:
  // Decides the requests up to this one, inclusively.
  void decide_until(const std::string& request_id);
  Decision decide_next(const model::NodeRequest& request);

  Records records_;
  const model::Component& own_;
  const driver::ProviderConfig& provider_;
  std::shared_ptr<const driver::Offer> offer_;
  PoolIdentity identity_;
  QuotaFacts quota_;
  PoolStock stock_;
  RequestQueue queue_;
  StarvedRequests starved_;  // none: other pools are not simulated
  std::shared_ptr<LaunchCount> launches_ = std::make_shared<LaunchCount>();
  std::optional<model::NodeRequest::ServiceKey> last_;  // the last decided one
  std::map<std::string, Decision, std::less<>> decisions_;
  std::vector<std::unique_ptr<Reservation>> reservations_;
};

}  // namespace nodepool::planning
