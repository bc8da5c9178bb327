#include "planning/min_ready.h"

#include <algorithm>

#include "planning/decision.h"

namespace nodepool::planning {

namespace {

// The most open requests for one label. Limits the load of a large min-ready.
constexpr std::int64_t kMostOutstanding = 100;

}  // namespace

std::int64_t missing_nodes(const MinReadyStock& stock) {
  const std::int64_t missing = stock.wanted - stock.ready - stock.requested;
  return std::max<std::int64_t>(0, std::min(missing, kMostOutstanding - stock.requested));
}

bool is_in_stock(const model::Node& node) {
  return node.state == model::NodeState::ready && !node.allocated_to;
}

bool is_for_min_ready(const model::NodeRequest& request) {
  return request.requestor == kMinReadyRequestor && request.node_types.size() == 1;
}

bool is_obtainable(const std::string& label, const std::vector<const model::Component*>& pools,
                   const std::function<bool(const model::Component& pool)>& has_problem) {
  return std::ranges::any_of(pools, [&](const model::Component* pool) {
    return pool->supports(label) && !has_problem(*pool);
  });
}

}  // namespace nodepool::planning
