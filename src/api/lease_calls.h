#pragma once

#include "api/call.h"

// The calls for leases (model/lease.h). All throw CallError and StoreError.
namespace nodepool::api {

async::Task<web::Response> list_leases(Call& call);
async::Task<web::Response> show_lease(Call& call);
async::Task<web::Response> renew_lease(Call& call);
async::Task<web::Response> hold_nodes(Call& call);
async::Task<web::Response> release_lease(Call& call);
// Ends the hold of a node, whether a client or an operator holds it.
async::Task<web::Response> end_hold(Call& call);

// The duration of a lease or hold: `requested`, or else `usual` reduced to the limit. The limit is
// the lower of the configuration's and the token's. Throws CallError (422) if `requested` exceeds
// it.
std::chrono::seconds granted_duration(const Call& call,
                                      std::optional<std::chrono::seconds> requested,
                                      std::chrono::seconds usual);

}  // namespace nodepool::api
