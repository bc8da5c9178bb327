#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordination/lock_set.h"
#include "launcher/context.h"
#include "launcher/node_launches.h"
#include "launcher/providers.h"
#include "model/record_batch.h"
#include "planning/pool_identity.h"

namespace nodepool::launcher {

using planning::PoolIdentity;

// Carries out a decision about one request. Every function leaves no lock and no half-written
// record behind, also when it is cancelled.
class NodeRequestHandler {
 public:
  enum class Outcome {
    done,       // the request is answered, or no longer there to be answered
    try_again,  // what the decision was based on has changed
    locked,     // somebody else works on the request: look again a little later
  };

  NodeRequestHandler(const ServingContext& context, PoolIdentity pool, std::string request_id);

  // Serves the request with nodes of the provider: the i-th of its labels with the existing node
  // plan[i], or, if that is empty, with a new one.
  //
  // Existing nodes alone are handed out in two commits: locks; nodes and request together. If nodes
  // are launched the request is `pending` meanwhile, and ends as `requested` again if the provider
  // refuses them for want of room, or if others were faster; or with the pool's decline if a launch
  // fails otherwise. Nodes that became ready in vain are free then. A store that is away fails
  // nothing: what is `pending` waits for it until the session has ended. Throws StoreError.
  Task<Outcome> fulfil(ProviderInService provider, std::vector<std::string> plan,
                       QuotaBounds bounds);

  // Goes on with a request that another launcher, or this one before it was restarted, has left
  // `pending`: its machines are finished, and handed out with what was ready. If that is not
  // possible everything stays as it is, for CleanupWorker to put the request back. Throws
  // StoreError.
  Task<Outcome> resume(ProviderInService provider);

  // Records that the pool does not serve the request, and why; fails the request if no registered
  // pool is left. Throws StoreError.
  Task<Outcome> decline(planning::Reason reason);

 private:
  // What becomes of a request that launches were begun for, unless it has been answered.
  struct Rest {
    planning::Reason declining = {};  // none: the request is put back
    bool is_left_for_later = false;   // all stays as it is, for whoever resumes
  };

  Task<coordination::LockSet::Outcome> take_locks();
  Task<Outcome> serve(ProviderInService provider, QuotaBounds bounds);
  Task<bool> all_usable(driver::Provider& provider);
  Task<> take_out_of_service(model::Node node, std::size_t lock);
  Task<Outcome> launch_and_hand_out(ProviderInService provider, QuotaBounds bounds);
  Task<bool> prepare(driver::Provider& provider, NodeLaunches& launches);
  std::optional<std::string> choose_zone(driver::Provider& provider) const;
  Task<bool> begin(driver::Provider& provider, NodeLaunches& launches, QuotaBounds bounds);
  Task<> revert_to_requested();
  Task<Outcome> finish(NodeLaunches& launches, bool resumes);
  Task<Outcome> launch_to_the_end(NodeLaunches& launches, bool resumes, Rest& rest);
  Task<> rollback_unless_resumable(Rest& rest);
  Task<Outcome> resume_launches(ProviderInService provider);
  bool find_requested();
  Task<Outcome> take_over(ProviderInService provider);
  Task<Outcome> hand_out();
  Task<> rollback(planning::Reason declining);
  Task<> reset_one_by_one(planning::Reason declining);
  Task<bool> commit_reset(model::RecordBatch batch);
  void add_node_release(model::RecordBatch& batch, const RequestedNode& wanted) const;
  void add_request_reset(model::RecordBatch& batch, const planning::Reason& declining) const;
  Task<Outcome> write_decline(planning::Reason reason);

  void add_decline(model::NodeRequest& request, const planning::Reason& reason) const;
  model::Node allocated(const model::Node& node) const;
  bool can_be_handed_out(const model::Node* node, const std::string& label) const;

  const ServingContext& context_;
  PoolIdentity pool_;
  std::string request_id_;
  telemetry::Logger log_;
  coordination::LockSet locks_;
  std::size_t request_lock_;
  std::vector<RequestedNode> requested_;  // one for each of the request's labels
  bool is_pending_ = false;  // the request was made so by this handler: to be answered or put back
};

}  // namespace nodepool::launcher
