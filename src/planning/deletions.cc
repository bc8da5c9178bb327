#include "planning/deletions.h"

#include <iterator>
#include <utility>

namespace nodepool::planning {

namespace {

template <typename Key>
void remove_time(std::map<Key, std::multiset<double>>& times, const Key& key, double time) {
  const auto found = times.find(key);
  found->second.extract(time);
  if (found->second.empty()) times.erase(found);
}

template <typename Key>
double latest_of(const std::map<Key, std::multiset<double>>& times, const Key& key, double until) {
  const auto found = times.find(key);
  if (found == times.end()) return 0;
  const auto later = found->second.upper_bound(until);
  return later == found->second.begin() ? 0 : *std::prev(later);
}

// A launch that the cloud has refused leaves an aborted node, which is deleted next.
bool is_being_deleted(const model::Node& node) {
  return node.state == model::NodeState::deleting || node.state == model::NodeState::aborted;
}

}  // namespace

Deletions::Deletions(model::NodeTable& nodes) {
  for (const auto& [id, node] : nodes.all()) on_node(id, &node);
  subscription_ = nodes.observe(
      [this](const model::NodeTable::Change& change) { on_node(change.id, change.after); });
}

void Deletions::on_node(const std::string& id, const model::Node* node) {
  forget(id);
  if (node == nullptr || !is_being_deleted(*node)) return;
  add(*node, node->state_time, true);
}

void Deletions::expect(const model::Node& node, double now) {
  forget(node.id);
  add(node, now, false);
}

void Deletions::stop_expecting(const std::string& id) {
  const auto known = by_node_.find(id);
  if (known != by_node_.end() && !known->second.is_recorded) forget(id);
}

void Deletions::add(const model::Node& node, double since, bool is_recorded) {
  Deletion deletion{node.provider.value_or(""), node.pool.value_or(""),
                    node.tenant_name.value_or(""), since, is_recorded};
  by_provider_[deletion.provider].insert(deletion.since);
  by_pool_[{deletion.provider, deletion.pool}].insert(deletion.since);
  by_tenant_[deletion.tenant].insert(deletion.since);
  by_node_.emplace(node.id, std::move(deletion));
}

void Deletions::forget(const std::string& id) {
  const auto entry = by_node_.extract(id);
  if (entry.empty()) return;
  const Deletion& deletion = entry.mapped();
  remove_time(by_provider_, deletion.provider, deletion.since);
  remove_time(by_pool_, std::tuple(deletion.provider, deletion.pool), deletion.since);
  remove_time(by_tenant_, deletion.tenant, deletion.since);
}

double Deletions::latest(Decision::Shortage shortage, const PoolIdentity& pool,
                         const std::string& tenant, double until) const {
  switch (shortage) {
    case Decision::Shortage::none:
      break;
    case Decision::Shortage::pool:
      return latest_of(by_pool_, std::tuple(pool.provider, pool.name), until);
    case Decision::Shortage::provider:
      return latest_of(by_provider_, pool.provider, until);
    case Decision::Shortage::tenant:
      return latest_of(by_tenant_, tenant, until);
  }
  return 0;
}

}  // namespace nodepool::planning
