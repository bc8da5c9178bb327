#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/lease.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/node_table.h"

// Nodes that are held for a time (model/lease.h), by a requestor that need not stay connected. A
// lease is known by the id of the request that it answers.
namespace nodepool::requestor {

using async::Task;

struct LeasedNodes {
  model::Lease lease;
  std::vector<model::Node> nodes;  // in the order in which they were asked for, or by id
};

// What a lease is to be.
struct LeaseTerms {
  async::Duration duration;
  std::string holder;
  std::string owner = {};  // see model::Lease
  std::string key = {};
};

// Accepts the nodes of a fulfilled request on these terms; the request is gone afterwards, also
// when this throws: RequestError if the nodes are not to be had, StoreError, Cancelled. When the
// process dies midway, the launcher has the nodes back.
Task<LeasedNodes> accept_with_lease(async::Runtime runtime, coordination::Store& store,
                                    model::NodeRequest request, LeaseTerms terms);

// The same, but when it throws the request stays as it is, with its nodes unlocked.
Task<LeasedNodes> lease_nodes(async::Runtime runtime, coordination::Store& store,
                              model::NodeRequest request, LeaseTerms terms);

// All leases, by id.
std::vector<LeasedNodes> leases(const model::NodeTable& nodes);

// When the lease ends, in seconds since the epoch; 0 if there is none.
double end_of_lease(const model::NodeTable& nodes, const std::string& lease_id);

// Lets the lease run for `duration` from now, but in all, since its nodes went into use, no longer
// than `longest`, if that is given; its nodes all change together. Throws RequestError if there is
// no such lease, and StoreError.
Task<model::Lease> renew_lease(async::Runtime runtime, coordination::Store& store,
                               const model::NodeTable& nodes, std::string lease_id,
                               async::Duration duration,
                               std::optional<std::chrono::seconds> longest = std::nullopt);

// Ends a lease, or its hold on one node: gives the nodes back, or, with a `hold_reason`, keeps them
// as keep_leased_node() does. `id` is a lease's or a node's. Returns the ids of the nodes. Throws
// RequestError if the lease does not exist or the node is not leased, and StoreError.
Task<std::vector<std::string>> release_lease(async::Runtime runtime, coordination::Store& store,
                                             const model::NodeTable& nodes, std::string id,
                                             std::optional<std::string> hold_reason = std::nullopt);

// Takes one node out of a lease for a person to look at: it is held, with `reason` as its comment,
// and unlocked; the end of the lease is nothing to it. Without a reason the comment names the lease
// and its holder. The hold ends after `longest`, if that is given. The node still counts as its
// owner's (model::Hold). Returns false if the lease does not hold the node. Throws RequestError if
// others keep changing it, and StoreError.
Task<bool> keep_leased_node(async::Runtime runtime, coordination::Store& store, std::string node_id,
                            std::string lease_id, std::string reason,
                            std::optional<std::chrono::seconds> longest = std::nullopt);

// Ends the hold of a node: it has been used, and its launcher takes it back. Returns false if it is
// not held. Throws RequestError if it is locked, and StoreError.
Task<bool> end_hold(async::Runtime runtime, coordination::Store& store, model::NodeTable& nodes,
                    std::string node_id);

}  // namespace nodepool::requestor
