#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/component.h"
#include "model/node.h"
#include "model/node_request.h"

// What keeps `min-ready` nodes of each label in stock.
namespace nodepool::planning {

// The ready nodes of one label.
struct MinReadyStock {
  std::int64_t wanted = 0;     // `min-ready`
  std::int64_t ready = 0;      // unallocated ready nodes, even if locked
  std::int64_t requested = 0;  // requests of all launchers for one node each
};

// How many more nodes to request now.
std::int64_t missing_nodes(const MinReadyStock& stock);

// Whether the node counts as `ready`.
bool is_in_stock(const model::Node& node);

// Whether the request counts as `requested`.
bool is_for_min_ready(const model::NodeRequest& request);

// Whether a registered pool offers the label and has no known problem with it.
bool is_obtainable(const std::string& label, const std::vector<const model::Component*>& pools,
                   const std::function<bool(const model::Component& pool)>& has_problem);

}  // namespace nodepool::planning
