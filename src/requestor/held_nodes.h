#pragma once

#include <optional>
#include <string>
#include <vector>

#include "requestor/locked_nodes.h"

namespace nodepool::requestor {

// Nodes that this session uses. They are given back by release(), or by themselves when the session
// ends: nothing has to be renewed, and nothing is left behind when the process dies.
class HeldNodes {
 public:
  HeldNodes(const async::Runtime& runtime, coordination::Store& store);

  // Accepts the nodes of a fulfilled request; the request is gone afterwards, also when this
  // throws: RequestError if the nodes are not to be had, StoreError, Cancelled.
  Task<> accept(model::NodeRequest request);

  // In the order in which they were asked for.
  const std::vector<model::Node>& nodes() const { return nodes_; }

  // Gives the nodes back; with a reason they are held instead, for a person to look at, with it as
  // their comment. Throws StoreError.
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
