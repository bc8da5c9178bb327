#include "planning/pool_stock.h"

#include <algorithm>

#include "planning/matching.h"

namespace nodepool::planning {

namespace {

// The nodes of one request share a zone: keeps the zone of the first node that has one.
void keep_to_one_zone(const model::NodeTable& nodes,
                      std::vector<std::vector<std::string>>& candidates) {
  model::SharedText zone;
  for (std::vector<std::string>& ids : candidates) {
    std::erase_if(ids, [&nodes, &zone](const std::string& id) {
      const model::SharedText& az = nodes.find(id)->az;
      if (az && !zone) zone = az;
      return az && *az != *zone;
    });
  }
}

}  // namespace

PoolStock::PoolStock(const model::NodeTable& nodes, const PoolIdentity& pool)
    : nodes_(nodes), pool_(pool) {}

void PoolStock::reconfigure(std::optional<driver::Inventory> inventory) {
  inventory_ = std::move(inventory);
  capacity_.clear();
  companions_.clear();
  if (!inventory_) return;
  capacity_ = driver::count_by_label(*inventory_);
  for (const std::vector<std::string>& labels : *inventory_) {
    if (labels.size() < 2) continue;
    for (const std::string& label : labels) {
      companions_[label].insert(labels.begin(), labels.end());
    }
  }
}

std::vector<std::string> PoolStock::choose(
    const model::NodeRequest& request,
    const std::function<bool(const std::string& id)>& is_preferred) const {
  const std::size_t count = request.node_types.size();
  std::vector<std::vector<std::string>> candidates(count);
  for (std::size_t i = 0; request.reuse && i < count; ++i) {
    std::vector<std::string> others;
    for (const std::string& id : nodes_.free(pool_.provider, pool_.name, request.node_types[i])) {
      // The request's other labels take at most count - 1 of them.
      if (candidates[i].size() == count) break;
      if (reserved_.contains(id)) continue;
      const bool is_first = is_preferred(id);
      if (is_first) candidates[i].push_back(id);
      if (!is_first && others.size() < count) others.push_back(id);
    }
    others.resize(std::min(others.size(), count - candidates[i].size()));
    candidates[i].insert(candidates[i].end(), others.begin(), others.end());
  }
  keep_to_one_zone(nodes_, candidates);
  return match(candidates);
}

void PoolStock::reserve(const std::vector<std::string>& plan) {
  for (const std::string& id : plan) {
    if (!id.empty()) reserved_.insert(id);
  }
}

void PoolStock::release(const std::vector<std::string>& plan) {
  for (const std::string& id : plan) reserved_.erase(id);
}

std::optional<std::int64_t> PoolStock::capacity(std::string_view label) const {
  if (!inventory_) return std::nullopt;
  const auto found = capacity_.find(label);
  return found == capacity_.end() ? 0 : found->second;
}

// A node with several labels counts for the capacity of each, but serves only one. For a single
// label, checking the capacity is enough.
bool PoolStock::has_all_at_once(const std::vector<std::string>& labels) const {
  if (!inventory_ ||
      std::ranges::adjacent_find(labels, std::ranges::not_equal_to()) == labels.end()) {
    return true;
  }
  const driver::Inventory& inventory = *inventory_;
  std::vector<std::vector<std::string>> candidates(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t node = 0; node < inventory.size(); ++node) {
      // The other labels take at most size - 1 of them.
      if (candidates[i].size() == labels.size()) break;
      if (std::ranges::find(inventory[node], labels[i]) == inventory[node].end()) continue;
      candidates[i].push_back(std::to_string(node));
    }
  }
  return std::ranges::none_of(match(candidates), &std::string::empty);
}

std::set<std::string, std::less<>> PoolStock::rivals(const std::vector<std::string>& labels) const {
  std::set<std::string, std::less<>> rivals(labels.begin(), labels.end());
  for (const std::string& label : labels) {
    const auto companions = companions_.find(label);
    if (companions != companions_.end()) {
      rivals.insert(companions->second.begin(), companions->second.end());
    }
  }
  return rivals;
}

}  // namespace nodepool::planning
