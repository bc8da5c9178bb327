#include "launcher/node_counts.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "launcher/launcher_metrics.h"

namespace nodepool::launcher {

namespace {

constexpr model::RequestState kRequestStates[] = {
    model::RequestState::requested, model::RequestState::pending, model::RequestState::fulfilled,
    model::RequestState::failed};

template <typename Key>
void add(std::map<Key, std::int64_t>& counts, const Key& key, int sign) {
  const auto count = counts.try_emplace(key, 0).first;
  count->second += sign;
  if (count->second == 0) counts.erase(count);
}

}  // namespace

NodeCounts::NodeCounts(model::NodeTable& nodes, model::RequestTable& requests) {
  for (const auto& [id, node] : nodes.all()) count(node, 1);
  for (const auto& [id, request] : requests.all()) count(request, 1);
  node_changes_ = nodes.observe([this](const model::NodeTable::Change& change) {
    if (change.before != nullptr) count(*change.before, -1);
    if (change.after != nullptr) count(*change.after, 1);
  });
  request_changes_ = requests.observe([this](const model::RequestTable::Change& change) {
    if (change.before != nullptr) count(*change.before, -1);
    if (change.after != nullptr) count(*change.after, 1);
  });
}

void NodeCounts::count(const model::Node& node, int sign) {
  add(nodes_, node.state, sign);
  if (node.provider) add(nodes_by_provider_, std::tuple(*node.provider, node.state), sign);
  for (const std::string& label : node.type) {
    add(nodes_by_label_, std::tuple(label, node.state), sign);
  }
}

void NodeCounts::count(const model::NodeRequest& request, int sign) {
  const std::set<std::string> labels(request.node_types.begin(), request.node_types.end());
  add(requests_, Labels(labels.begin(), labels.end()), sign);
  add(requests_by_state_, request.state, sign);
  const bool is_open = request.state == model::RequestState::requested ||
                       request.state == model::RequestState::pending;
  if (is_open) add(open_requests_, request.stat.ctime, sign);
}

std::int64_t NodeCounts::addressable_by(const model::Component& pool) const {
  const std::set<std::string_view> offered(pool.supported_labels.begin(),
                                           pool.supported_labels.end());
  std::int64_t sum = 0;
  for (const auto& [labels, count] : requests_) {
    if (std::ranges::includes(offered, labels)) sum += count;
  }
  return sum;
}

std::int64_t NodeCounts::oldest(double now) const {
  constexpr double kMilliseconds = 1000;
  if (open_requests_.empty()) return 0;
  const double created = static_cast<double>(open_requests_.begin()->first) / kMilliseconds;
  return static_cast<std::int64_t>(std::max(now - created, 0.0));
}

NodeCounts::Values NodeCounts::values(const std::vector<const model::Component*>& pools,
                                      double now) const {
  using telemetry::series;
  Values values;
  for (const model::NodeState state : model::kAllNodeStates) {
    values[series<kNodes>(to_string(state))] = 0;
    for (const model::Component* pool : pools) {
      values[series<kNodesOfProvider>(pool->provider_name, to_string(state))] = 0;
      for (const std::string& label : pool->supported_labels) {
        values[series<kNodesOfLabel>(label, to_string(state))] = 0;
      }
    }
  }
  for (const auto& [state, count] : nodes_) values[series<kNodes>(to_string(state))] = count;
  for (const auto& [key, count] : nodes_by_provider_) {
    const auto& [provider, state] = key;
    values[series<kNodesOfProvider>(provider, to_string(state))] = count;
  }
  for (const auto& [key, count] : nodes_by_label_) {
    const auto& [label, state] = key;
    values[series<kNodesOfLabel>(label, to_string(state))] = count;
  }
  for (const model::RequestState state : kRequestStates) {
    const auto found = requests_by_state_.find(state);
    values[series<kRequests>(to_string(state))] =
        found == requests_by_state_.end() ? 0 : found->second;
  }
  values[series<kOldestRequest>()] = oldest(now);
  for (const model::Component* pool : pools) {
    values[series<kAddressableRequests>(pool->provider_name, pool->name)] = addressable_by(*pool);
  }
  return values;
}

}  // namespace nodepool::launcher
