#pragma once

#include <optional>
#include <string>
#include <vector>

#include "requestor/locked_nodes.h"

namespace nodepool::requestor {

// Nodes that this session uses, locked by it. release() releases them, and so does the end of the
// session: nothing has to be renewed, and nothing leaks when the process dies.
class HeldNodes {
 public:
  HeldNodes(const async::Runtime& runtime, coordination::Store& store);

  // Accepts the nodes of a fulfilled request, which is deleted, also if this throws: RequestError
  // if the nodes are not available, StoreError, Cancelled.
  Task<> accept(model::NodeRequest request);

  // In the order of the request's labels.
  const std::vector<model::Node>& nodes() const { return nodes_; }

  // Releases the nodes; with a reason they are put into the state `hold` instead, with the reason
  // as comment. Throws StoreError.
  Task<> release(std::optional<std::string> hold_reason = std::nullopt);

 private:
  Task<> lock_and_take(model::NodeRequest request);
  Task<> decline(std::string request_id);
  Task<bool> try_release(std::optional<std::string> hold_reason);
  Task<> read_again();

  async::Runtime runtime_;
  coordination::Store& store_;
  LockedNodes locked_;
  std::vector<model::Node> nodes_;
};

}  // namespace nodepool::requestor
