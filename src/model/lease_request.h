#pragma once

#include <optional>
#include <string>

#include "model/node_request.h"

namespace nodepool::model {

// What a request says that is to be answered with a lease (model/lease.h), by whoever serves the
// request API: it outlives the client that asked, and the launcher that took it. It is kept in the
// request's `requestor_data`:
//
//   {"nodepool_lease_request": {"owner": "gitlab", "holder": "job 17", "lease": 7200.0,
//                       "expires": 1700003600.0, "key": "9f86d0…"}}
struct LeaseRequest {
  std::string owner;     // the client of the request API that it belongs to
  std::string holder;    // for people
  double lease = 0;      // seconds that the nodes are held, from when they are there
  double expires = 0;    // seconds since the epoch: it is not waited for longer
  std::string key = {};  // tells whether it is the same order once more; empty: nobody asks

  friend bool operator==(const LeaseRequest&, const LeaseRequest&) = default;
};

// The order that the request is; nothing if somebody else waits for its nodes.
std::optional<LeaseRequest> lease_request_of(const NodeRequest& request);

// The `requestor_data` of such a request.
Json lease_request_data(const LeaseRequest& order);

}  // namespace nodepool::model
