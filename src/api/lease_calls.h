#pragma once

#include "api/call.h"

// The calls about leases (model/lease.h). All throw CallError and StoreError.
namespace nodepool::api {

async::Task<web::Response> list_leases(Call& call);
async::Task<web::Response> show_lease(Call& call);
async::Task<web::Response> renew_lease(Call& call);
async::Task<web::Response> hold_nodes(Call& call);
async::Task<web::Response> release_lease(Call& call);
// Of a node that has been taken out of a lease to be held, or that an operator has.
async::Task<web::Response> end_hold(Call& call);

// The lease with this id, which the client may see. Throws CallError.
const LeaseIndex::Entry& visible_lease(const Call& call);

// For how long the client may have nodes that it asks to have for so long; `usual`: if it does not
// say. The limits are the site's and the token's, the lower of them. Throws CallError if that is
// less than it asks for.
std::chrono::seconds granted(const Call& call, std::optional<std::chrono::seconds> asked,
                             std::chrono::seconds usual);

}  // namespace nodepool::api
