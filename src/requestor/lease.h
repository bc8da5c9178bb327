#pragma once

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

// Accepts the nodes of a fulfilled request for `duration`; the request is gone afterwards, also
// when this throws: RequestError if the nodes are not to be had, StoreError, Cancelled. When the
// process dies midway, the launcher has the nodes back.
Task<LeasedNodes> accept_with_lease(async::Runtime runtime, coordination::Store& store,
                                    model::NodeRequest request, async::Duration duration,
                                    std::string holder);

// All leases, by id.
std::vector<LeasedNodes> leases(const model::NodeTable& nodes);

// Lets the lease run for `duration` from now; its nodes all change together. Throws RequestError if
// there is no such lease, and StoreError.
Task<model::Lease> renew_lease(async::Runtime runtime, coordination::Store& store,
                               const model::NodeTable& nodes, std::string lease_id,
                               async::Duration duration);

// Ends a lease, or its hold on one node: gives the nodes back. `id` is a lease's or a node's.
// Returns the ids of the nodes. Throws RequestError if the lease does not exist or the node is not
// leased, and StoreError.
Task<std::vector<std::string>> release_lease(async::Runtime runtime, coordination::Store& store,
                                             const model::NodeTable& nodes, std::string id);

}  // namespace nodepool::requestor
