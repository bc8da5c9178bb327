#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "async/task.h"
#include "coordination/store.h"
#include "model/node.h"

namespace nodepool::model {

// Holds nodes for a requestor that does not stay connected. It is stored in the `user_data` of each
// of its nodes. A persistent contender holds the node's lock:
//
//   {"nodepool_lease": {"id": "200-0000000007", "expires": 1700003600.0, "holder": "nodepool:a@b",
//                       "label": "debian-12", "index": 0, "owner": "gitlab", "key": "9f86d0…"}}
//
// The request API adds the last two. The launcher reclaims the nodes of an expired lease.
struct Lease {
  std::string id;          // the id of its request
  double expires = 0;      // seconds since the epoch
  std::string holder;      // for people
  std::string owner = {};  // the client of the request API; empty: none
  std::string key = {};    // of its lease request (model/lease_request.h); empty: none
  // The node's label and index in the request. Missing in older leases.
  std::string label = {};
  std::int64_t index = 0;

  friend bool operator==(const Lease&, const Lease&) = default;
};

// The data of the lease's contender for the node's lock.
std::string lease_contender(const std::string& lease_id);

// Whether the contender at `path` belongs to the lease. False if it is gone. Throws StoreError.
async::Task<bool> is_contender_of_lease(coordination::Store& store, std::string path,
                                        std::string lease_id);

// The lease in the node's `user_data`. Returns nothing if there is none.
std::optional<Lease> lease_of(const Node& node);

// The `user_data` of a node that is held by the lease.
Json lease_user_data(const Lease& lease);

// The owner of a held node. It is stored in the `user_data` of a node that a client of the request
// API, or an operator, has taken out of the client's lease and held. The client may end the hold.
//
//   {"nodepool_hold": {"owner": "gitlab", "lease": "200-0000000007"}}
struct Hold {
  std::string owner;
  std::string lease;  // the former lease of the node
};

// The client's hold of the node. Returns nothing if there is none.
std::optional<Hold> hold_of(const Node& node);

// The `user_data` of such a node.
Json hold_user_data(const Hold& hold);

}  // namespace nodepool::model
