#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/component.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "report/table.h"

// Listings of the records, for the commands and the web pages. Columns and values are those of the
// Python Nodepool.
namespace nodepool::report {

// A table of nodes without rows.
Table node_columns(Detail detail);

// Adds one node. `now` is in seconds since the epoch.
void add_node(Table& table, const model::Node& node, bool locked, double now, Detail detail);

// All nodes, by id, with all columns.
Table node_listing(const model::NodeTable& nodes, double now);

// Requests: the columns, and a row. `now` is in seconds since the epoch.
Table request_columns();
void add_request(Table& table, const model::NodeRequest& request, double now);

// All requests, by id.
Table request_listing(const model::RequestTable& requests, double now);

Table label_columns();

// The labels of all registered pools: the pools that offer it, its free ready nodes, and all its
// nodes.
Table label_listing(const std::vector<const model::Component*>& pools,
                    const model::NodeTable& nodes);

// The nodes of one provider with the ids of their machines.
Table server_listing(const model::NodeTable& nodes, const std::string& provider);

// The time from `then` to `now`, both in seconds, as "DD:HH:MM:SS", with more digits of days as
// needed. For a future `then` the days are negative, and the rest counts forward.
std::string age_text(double now, double then);

}  // namespace nodepool::report
