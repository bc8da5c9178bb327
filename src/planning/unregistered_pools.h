#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.h"
#include "model/component.h"
#include "model/node_request.h"
#include "model/node_table.h"

// Pools that no launcher has registered, and that a request may have to wait for.
namespace nodepool::planning {

// Whether the pool is registered.
bool is_served(std::string_view provider, std::string_view pool,
               const std::vector<const model::Component*>& registered);

// "provider-pool" of an unregistered pool, of a provider that has not started yet, that offers all
// labels of the request and accepts requests. Empty: none, or the request is for min-ready: while
// it waits, its launcher requests no idle node of other pools.
std::string unserved_pool_of(const driver::ProviderConfig& provider,
                             const model::NodeRequest& request,
                             const std::vector<const model::Component*>& registered);

// "provider-pool" of an unregistered pool that has nodes with all labels of the request and has not
// declined it. Empty: none. Iterates over all nodes.
std::string unserved_pool_with_nodes(const model::NodeRequest& request,
                                     const std::vector<const model::Component*>& registered,
                                     const model::NodeTable& nodes);

}  // namespace nodepool::planning
