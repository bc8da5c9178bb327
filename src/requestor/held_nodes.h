#pragma once

#include <cstddef>
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
  // as comment. Returns the ids of those for which that was written: others have been changed in
  // spite of their locks, or the session has expired. Throws StoreError.
  Task<std::vector<std::string>> release(std::optional<std::string> hold_reason = std::nullopt);

 private:
  Task<> lock_and_take(model::NodeRequest request);
  Task<> decline(std::string request_id);
  Task<bool> try_release(std::vector<std::size_t> indexes, std::optional<std::string> hold_reason);
  Task<> read_again();

  async::Runtime runtime_;
  coordination::Store& store_;
  LockedNodes locked_;
  std::vector<model::Node> nodes_;
};

}  // namespace nodepool::requestor
