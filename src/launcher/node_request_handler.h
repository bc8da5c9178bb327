#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/context.h"
#include "launcher/locked_request.h"
#include "launcher/node_launches.h"
#include "launcher/providers.h"
#include "planning/pool_identity.h"

namespace nodepool::launcher {

using planning::PoolIdentity;

// Carries out a decision about one request. No function leaves a lock or a half-written record
// behind, even if it is cancelled.
class NodeRequestHandler {
 public:
  enum class Outcome {
    done,       // the request is served, declined or gone
    try_again,  // the facts of the decision have changed
    locked,     // the request is locked by another process: retry soon
  };

  NodeRequestHandler(const ServingContext& context, PoolIdentity pool, std::string request_id);

  // Serves the request with nodes of the provider: its i-th label with the existing node plan[i]
  // or, if that is empty, with a new one.
  //
  // Existing nodes alone take two commits: locks, then nodes and request. While nodes are launched,
  // the request is `pending`. It becomes `requested` again if the provider is out of quota or other
  // launchers were faster, and is declined if a launch fails otherwise. Ready nodes are then freed.
  // While the store is unreachable, a `pending` request waits until the session ends. Throws
  // StoreError.
  Task<Outcome> fulfil(ProviderInService provider, std::vector<std::string> plan,
                       QuotaBounds bounds);

  // Resumes a request that another launcher, or this one before a restart, left `pending`:
  // completes the launches and hands out all nodes. If that is not possible, changes nothing:
  // CleanupWorker resets the request. Throws StoreError.
  Task<Outcome> resume(ProviderInService provider);

  // Records that the pool declines the request, and why. Fails the request if no registered pool is
  // left. Throws StoreError.
  Task<Outcome> decline(planning::Reason reason);

 private:
  Task<Outcome> under_locks(Task<Outcome> work);
  Task<> roll_back_if_pending();
  Task<Outcome> serve(ProviderInService provider, QuotaBounds bounds);
  Task<NodeLaunches::Step> prepare(driver::Provider& provider, NodeLaunches& launches);
  std::optional<std::string> choose_zone(driver::Provider& provider) const;
  Task<Outcome> finish(NodeLaunches& launches);
  bool find_requested();
  Task<Outcome> take_over(ProviderInService provider);
  Task<Outcome> hand_out();
  Task<Outcome> write_decline(planning::Reason reason);
  model::Node allocated(const model::Node& node) const;
  bool has_node_for_each_label(const model::NodeRequest& request) const;
  bool can_be_handed_out(const model::Node* node, const std::string& label) const;

  const ServingContext& context_;
  LockedRequest request_;
  bool is_pending_ = false;          // this handler has to fulfil or reset the request
  planning::Reason declining_ = {};  // of the pending request; none: it is reset
};

}  // namespace nodepool::launcher
