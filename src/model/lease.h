#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "async/task.h"
#include "coordination/store.h"
#include "model/node.h"

namespace nodepool::model {

// What a requestor that does not stay connected holds its nodes by. It is kept in the `user_data`
// of each of its nodes, beside a contender for the node's lock that outlives the requestor's
// session:
//
//   {"nodepool_lease": {"id": "200-0000000007", "expires": 1700003600.0, "holder": "nodepool:a@b",
//                       "label": "debian-12", "index": 0, "owner": "gitlab", "key": "9f86d0…"}}
//
// The last two are there if the request API made it. Once it has expired, the launcher takes the
// nodes back.
struct Lease {
  std::string id;          // that of the request that it answers
  double expires = 0;      // seconds since the epoch
  std::string holder;      // for people
  std::string owner = {};  // the client of the request API that it belongs to; empty: nobody's
  std::string key = {};    // of the order that it answers (model/lease_request.h); empty: none
  // Of the node: what it was asked for as, and where in the request. Older leases do not say.
  std::string label = {};
  std::int64_t index = 0;

  friend bool operator==(const Lease&, const Lease&) = default;
};

// The text in the contender of the node's lock that belongs to a lease.
std::string lease_contender(const std::string& lease_id);

// Whether the contender at `path` belongs to the lease; no if it has left the line. Throws
// StoreError.
async::Task<bool> is_contender_of_lease(coordination::Store& store, std::string path,
                                        std::string lease_id);

// The lease that holds the node; nothing if there is none, or if `user_data` belongs to someone who
// does not use leases.
std::optional<Lease> lease_of(const Node& node);

// The `user_data` of a node that is held by the lease.
Json lease_user_data(const Lease& lease);

// Whose a held node still is. Kept in the `user_data` of a node that a client of the request API,
// or an operator, has taken out of such a client's lease for a person to look at: it counts as the
// client's, who may end the hold.
//
//   {"nodepool_hold": {"owner": "gitlab", "lease": "200-0000000007"}}
struct Hold {
  std::string owner;
  std::string lease;  // that it was taken out of
};

// The hold that a client has on the node; nothing if the node is not held, or nobody's.
std::optional<Hold> hold_of(const Node& node);

// The `user_data` of such a node.
Json hold_user_data(const Hold& hold);

}  // namespace nodepool::model
