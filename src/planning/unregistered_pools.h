#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/component.h"
#include "model/node_request.h"
#include "model/node_table.h"

// Pools that no launcher has registered, and that a request may have to wait for.
namespace nodepool::planning {

// Whether the pool is registered.
bool is_served(std::string_view provider, std::string_view pool,
               const std::vector<const model::Component*>& registered);

// "provider-pool" of an unregistered pool that has nodes with all labels of the request and has not
// declined it. Empty: none. Iterates over all nodes.
std::string unserved_pool_with_nodes(const model::NodeRequest& request,
                                     const std::vector<const model::Component*>& registered,
                                     const model::NodeTable& nodes);

}  // namespace nodepool::planning
