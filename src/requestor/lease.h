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

// Leases (model/lease.h): nodes that a requestor has until a time, without staying connected. A
// lease has the id of the request that it was granted for.
namespace nodepool::requestor {

using async::Task;

struct LeasedNodes {
  model::Lease lease;
  std::vector<model::Node> nodes;  // in the order of the request's labels, or by id
};

// The terms of a new lease.
struct LeaseTerms {
  async::Duration duration;
  std::string holder;
  std::string owner = {};  // see model::Lease
  std::string key = {};
};

// Leases the nodes of a fulfilled request. The request is deleted, also if this throws; if the
// store is unreachable then, at the end of the session. Throws RequestError if the nodes are not
// available, StoreError, Cancelled: they are not leased, unless the outcome is unknown. This is the
// case if the store does not respond for a minute after the last step, also not in another session;
// the text names the lease. If the process dies midway, the launcher reclaims the nodes.
Task<LeasedNodes> accept_with_lease(async::Runtime runtime, coordination::Store& store,
                                    model::NodeRequest request, LeaseTerms terms);

// The same, but if it throws, the request is unchanged and its nodes are unlocked.
Task<LeasedNodes> lease_nodes(async::Runtime runtime, coordination::Store& store,
                              model::NodeRequest request, LeaseTerms terms);

// All leases, by id.
std::vector<LeasedNodes> leases(const model::NodeTable& nodes);

// When the lease ends, in seconds since the epoch; 0 if there is none.
double end_of_lease(const model::NodeTable& nodes, const std::string& lease_id);

// Renews the lease for `duration` from now, but in all, since its nodes went into use, for at most
// `longest`, if that is given. Changes all its nodes in one transaction. Throws NoSuchLease,
// RequestError if other processes keep changing a node, and StoreError.
Task<model::Lease> renew_lease(async::Runtime runtime, coordination::Store& store,
                               const model::NodeTable& nodes, std::string lease_id,
                               async::Duration duration,
                               std::optional<std::chrono::seconds> longest = std::nullopt);

// Releases a lease, or one node of it; with a `hold_reason`, holds the nodes like
// keep_leased_node(). `id` is the id of a lease or a node. Returns the ids of the nodes. Throws
// NoSuchLease, RequestError if other processes keep changing a node, and StoreError.
Task<std::vector<std::string>> release_lease(async::Runtime runtime, coordination::Store& store,
                                             const model::NodeTable& nodes, std::string id,
                                             std::optional<std::string> hold_reason = std::nullopt);

// Releases these nodes, as far as they are part of the lease in the store. Returns their ids.
// Throws RequestError if other processes keep changing a node, and StoreError.
Task<std::vector<std::string>> release_nodes(async::Runtime runtime, coordination::Store& store,
                                             std::string lease_id,
                                             std::vector<std::string> node_ids);

// Removes one node from a lease and holds it for inspection, unlocked, with `reason` as comment.
// Without a reason the comment names the lease and its holder. The hold ends after `longest`, if
// that is given. The node still counts as its owner's (model::Hold). Returns false if the lease
// does not have the node. Throws RequestError if other processes keep changing it, and StoreError.
Task<bool> keep_leased_node(async::Runtime runtime, coordination::Store& store, std::string node_id,
                            std::string lease_id, std::string reason,
                            std::optional<std::chrono::seconds> longest = std::nullopt);

// Ends the hold of a node: its state becomes `used`, so its launcher reclaims it. Returns false if
// it is not held. Throws RequestError if it is locked or being changed, and StoreError.
Task<bool> end_hold(async::Runtime runtime, coordination::Store& store, model::NodeTable& nodes,
                    std::string node_id);

}  // namespace nodepool::requestor
