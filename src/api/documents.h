#pragma once

#include <string>
#include <string_view>

#include "api/client.h"
#include "api/lease_index.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "model/request_table.h"

// What the API says of things, as JSON texts. Times are seconds since the epoch.
namespace nodepool::api {

// An order in progress: its state, why it waits or what has refused it, its place in line.
std::string lease_request_document(const std::string& id, const model::NodeRequest& request,
                                   const model::LeaseRequest& lease_request,
                                   const model::RequestTable& requests);

// A lease, with its nodes: with access, as `nodepool request --json` shows them, with all that is
// needed to log in; without, as `nodepool list` does. `now` is in seconds since the epoch.
enum class Access { hidden, shown };
std::string lease_document(const std::string& id, const LeaseIndex::Entry& entry,
                           const model::NodeTable& nodes, Access access, double now);

// What stands for an order whose nodes have been leased.
std::string fulfilled_document(const std::string& id, const LeaseIndex::Entry& entry,
                               const model::NodeTable& nodes, Access access, double now);

// Who the client is, what it may do, and how much it has.
std::string client_document(const Client& client, const LeaseIndex& lease_index);

}  // namespace nodepool::api
