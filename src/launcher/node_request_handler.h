#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordination/lock_set.h"
#include "launcher/context.h"

namespace nodepool::launcher {

// Carries out a decision about one request. Every function leaves no lock and no half-written
// record behind, also when it is cancelled.
class NodeRequestHandler {
 public:
  enum class Outcome {
    done,       // the request is answered, or no longer there to be answered
    try_again,  // what the decision was based on has changed
    locked,     // somebody else works on the request: look again a little later
  };

  // `pool_id` is the component id of the pool that works on the request.
  NodeRequestHandler(LauncherContext& context, std::string pool_id, std::string request_id);

  // Hands out existing nodes: node_ids[i] for the i-th of the request's labels. The nodes are
  // locked, looked at by their provider, and given to the request together with its fulfilment in
  // one transaction. Throws StoreError.
  Task<Outcome> fulfil(driver::Provider& provider, std::vector<std::string> node_ids);

  // Records that the pool does not serve the request, and why; fails the request if no registered
  // pool is left. Throws StoreError.
  Task<Outcome> decline(std::string reason);

 private:
  Task<bool> all_usable(driver::Provider& provider);
  Task<Outcome> hand_out();
  Task<Outcome> write_decline(std::string reason);
  Task<> take_out_of_service(model::Node node, std::size_t lock);
  model::Node allocated(const model::Node& node) const;

  LauncherContext& context_;
  std::string pool_id_;
  std::string request_id_;
  telemetry::Logger log_;
  coordination::LockSet locks_;
  std::vector<std::string> node_ids_;  // locks_ index 0 is the request's, i + 1 that of node i
};

}  // namespace nodepool::launcher
