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

// In seconds. `by_creation` has the numbers of requests by creation time in milliseconds.
std::int64_t age_of_oldest(const std::map<std::int64_t, std::int64_t>& by_creation, double now) {
  constexpr double kMilliseconds = 1000;
  if (by_creation.empty()) return 0;
  const double created = static_cast<double>(by_creation.begin()->first) / kMilliseconds;
  return static_cast<std::int64_t>(std::max(now - created, 0.0));
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
  if (!is_open) return;
  add(open_requests_, request.stat.ctime, sign);
  for (const std::string& label : labels) {
    OpenRequests& of_label = open_requests_by_label_[label];
    add(of_label, request.stat.ctime, sign);
    if (of_label.empty()) open_requests_by_label_.erase(label);
  }
}

std::int64_t NodeCounts::addressable_by(const model::Component& pool) const {
  const std::set<std::string_view> offered(pool.supported_labels.begin(),
                                           pool.supported_labels.end());
  std::int64_t sum = 0;
  for (const auto& [labels, count] : requests_) {
    // A request has few labels, a pool many.
    const bool offers_all = std::ranges::all_of(
        labels, [&offered](const std::string& label) { return offered.contains(label); });
    if (offers_all) sum += count;
  }
  return sum;
}

NodeCounts::Values NodeCounts::values(const std::vector<const model::Component*>& pools,
                                      double now) const {
  using telemetry::series;
  // Many pools share a provider or labels.
  std::set<std::string_view> providers;
  std::set<std::string_view> labels;
  for (const model::Component* pool : pools) {
    providers.insert(pool->provider_name);
    labels.insert(pool->supported_labels.begin(), pool->supported_labels.end());
  }
  Values values;
  for (const model::NodeState state : model::kAllNodeStates) {
    values[series<kNodes>(to_string(state))] = 0;
    for (const std::string_view provider : providers) {
      values[series<kNodesOfProvider>(provider, to_string(state))] = 0;
    }
    for (const std::string_view label : labels) {
      values[series<kNodesOfLabel>(label, to_string(state))] = 0;
    }
  }
  for (const std::string_view label : labels) values[series<kOldestRequestOfLabel>(label)] = 0;
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
  values[series<kOldestRequest>()] = age_of_oldest(open_requests_, now);
  for (const auto& [label, requests] : open_requests_by_label_) {
    values[series<kOldestRequestOfLabel>(label)] = age_of_oldest(requests, now);
  }
  for (const model::Component* pool : pools) {
    values[series<kAddressableRequests>(pool->provider_name, pool->name)] = addressable_by(*pool);
  }
  return values;
}

}  // namespace nodepool::launcher
