#pragma once

#include <optional>
#include <string>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/lease_request.h"
#include "model/node_request.h"
#include "requestor/lease.h"
#include "requestor/request.h"

// Lease requests (model/lease_request.h): sessionless requests of the API. The launchers' APIs end
// each of them: they lease its nodes, or remove it when its time to wait is over.
namespace nodepool::requestor {

// The records of idempotency keys. The first request with a key creates one, in the same
// transaction as the request. They are kept for at least a day.
inline constexpr std::string_view kIdempotencyKeysRoot = "/nodepool/idempotency-keys";

// Creates the request; returns its record. Returns nothing if the key has been used before. Throws
// StoreError: unless its outcome is unknown, there is no request.
Task<std::optional<model::NodeRequest>> create_lease_request(async::Runtime runtime,
                                                             coordination::Store& store,
                                                             NodeRequestSpec request_spec,
                                                             model::LeaseRequest lease_request);

// Leases the nodes of a fulfilled lease request. Returns nothing if another process does or did so,
// and if the nodes are not available: then the request is served again. Returns nothing also if
// they are too many for one lease: then the request has failed. Throws StoreError, Cancelled.
Task<std::optional<LeasedNodes>> serve_lease_request(async::Runtime runtime,
                                                     coordination::Store& store, std::string id);

enum class RequestEnd {
  removed,
  changed,  // it has another version
  gone,     // another process has removed it: perhaps it has leased its nodes
};

// Removes the request if it still has this version. Throws StoreError.
Task<RequestEnd> end_lease_request(coordination::Store& store, std::string id,
                                   std::int32_t version);

// Removes the keys that are more than a day old. Throws StoreError.
Task<> remove_old_keys(async::Runtime runtime, coordination::Store& store);

}  // namespace nodepool::requestor
