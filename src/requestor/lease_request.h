#pragma once

#include <optional>
#include <string>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/lease_request.h"
#include "model/node_request.h"
#include "requestor/lease.h"
#include "requestor/request.h"

// Orders (model/lease_request.h): requests that no session stands behind. Whoever serves them sees
// to it that each comes to an end: the nodes are leased, or nobody waits any longer.
namespace nodepool::requestor {

// How an order's record is found by its key, however often it is sent: the first one makes a node
// in the store, in the same transaction as its request. They are kept for a day at least.
inline constexpr std::string_view kOrderKeysRoot = "/nodepool/order-keys";

// Puts the order before the launchers; returns the request as it is in the store. Nothing if an
// order with this key has been put before. Throws StoreError: unless it says that the outcome is
// unknown, nothing has been ordered.
Task<std::optional<model::NodeRequest>> place_order(async::Runtime runtime,
                                                    coordination::Store& store,
                                                    NodeRequestSpec request_spec,
                                                    model::LeaseRequest order);

// Leases the nodes of an order that has been fulfilled. Nothing if somebody else does, or has done;
// RequestError if the nodes were not to be had: then the order is gone. Throws StoreError,
// Cancelled.
Task<std::optional<LeasedNodes>> serve_order(async::Runtime runtime, coordination::Store& store,
                                             std::string id);

// Removes the request if this is still its version: false if not. Throws StoreError.
Task<bool> end_order(coordination::Store& store, std::string id, std::int32_t version);

// Forgets the keys of more than a day ago. Throws StoreError.
Task<> forget_old_keys(async::Runtime runtime, coordination::Store& store);

}  // namespace nodepool::requestor
