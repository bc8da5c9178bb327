#pragma once

#include "api/call.h"

// The calls about leases (model/lease.h). All throw CallError and StoreError.
namespace nodepool::api {

async::Task<web::Response> list_leases(Call& call);
async::Task<web::Response> show_lease(Call& call);
async::Task<web::Response> renew_lease(Call& call);
async::Task<web::Response> hold_nodes(Call& call);
async::Task<web::Response> release_lease(Call& call);

// The lease with this id, which the client may see. Throws CallError.
const Ledger::Entry& visible_lease(const Call& call);

// The longest lease that the client gets. Nothing: as long as it likes.
std::optional<std::chrono::seconds> longest_lease(const Call& call);

// Throws CallError if the client gets none of that length.
void require_lease(const Call& call, std::chrono::seconds lease);

}  // namespace nodepool::api
