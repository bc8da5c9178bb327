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

// How things stand with one label.
struct MinReadyStock {
  std::int64_t wanted = 0;     // `min-ready`
  std::int64_t ready = 0;      // nodes that nobody has asked for, whoever may hold their lock
  std::int64_t asked_for = 0;  // requests for one each, of whatever launcher, not yet removed
};

// How many more nodes are to be asked for now.
std::int64_t to_ask_for(const MinReadyStock& stock);

// Whether the node counts as ready in it.
bool is_in_stock(const model::Node& node);

// … the request as asked for.
bool is_for_min_ready(const model::NodeRequest& request);

// Whether some registered pool may have the label: one that offers it, and is not known to have a
// problem with it.
bool can_be_had(const std::string& label, const std::vector<const model::Component*>& pools,
                const std::function<bool(const model::Component& pool)>& has_problem);

}  // namespace nodepool::planning
