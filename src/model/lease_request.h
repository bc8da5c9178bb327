#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/node_request.h"

namespace nodepool::model {

// A request that any server of the request API turns into a lease (model/lease.h). Independent of
// the connection of the client and of the launcher that accepted it. It is stored in the request's
// `requestor_data`:
//
//   {"nodepool_lease_request": {"owner": "gitlab", "holder": "job 17", "lease": 7200.0,
//                       "expires": 1700003600.0, "key": "9f86d0…"}}
struct LeaseRequest {
  std::string owner;     // the client of the request API
  std::string holder;    // for people
  double lease = 0;      // duration of the lease in seconds
  double expires = 0;    // deadline of the request in seconds since the epoch
  std::string key = {};  // idempotency key; empty: none

  friend bool operator==(const LeaseRequest&, const LeaseRequest&) = default;
};

// The `requestor` of these requests is this and the name of the client.
inline constexpr std::string_view kLeaseRequestorPrefix = "nodepool-api:";

// The lease request in the request. Returns nothing if there is none.
std::optional<LeaseRequest> lease_request_of(const NodeRequest& request);

// The `requestor_data` of such a request.
Json lease_request_data(const LeaseRequest& lease_request);

}  // namespace nodepool::model
