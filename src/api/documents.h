#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/client.h"
#include "api/lease_index.h"
#include "model/component.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "model/request_table.h"

// The JSON documents of the API. Times are seconds since the epoch.
namespace nodepool::api {

// A lease request in progress: its state, its position in the queue, the pools that declined it,
// and why none of `pools`, which are all, can serve it.
std::string lease_request_document(const std::string& id, const model::NodeRequest& request,
                                   const model::LeaseRequest& lease_request,
                                   const model::RequestTable& requests,
                                   const std::vector<const model::Component*>& pools);

// A lease with its nodes. With LoginData::shown, nodes have the form of `nodepool request --json`,
// with login data; otherwise the form of `nodepool list`. `now` is in seconds since the epoch.
enum class LoginData { hidden, shown };
std::string lease_document(const std::string& id, const LeaseIndex::Entry& entry,
                           const model::NodeTable& nodes, LoginData login_data, double now);

// The record of a node with login data, in the form of `nodepool request --json`.
std::string login_document(const model::Node& node);

// A lease request whose nodes have been leased.
std::string fulfilled_document(const std::string& id, const LeaseIndex::Entry& entry,
                               const model::NodeTable& nodes, LoginData login_data, double now);

// The client, its rights, and the number of its nodes.
std::string client_document(const Client& client, const LeaseIndex& lease_index);

}  // namespace nodepool::api
