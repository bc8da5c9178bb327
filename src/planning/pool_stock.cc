#include "planning/pool_stock.h"

#include <algorithm>

#include "planning/matching.h"

namespace nodepool::planning {

// Tries one zone after the other: the nodes of one request share a zone.
struct PoolStock::Zones {
  // The first one may be absent: it becomes the zone of the first node that has one.
  std::vector<model::SharedText> known;
  std::size_t current = 0;

  // Whether nodes of `zone` can be chosen now. Remembers it as the next one to try otherwise.
  bool admits(const model::SharedText& zone) {
    if (!known[current]) known[current] = zone;
    if (!zone || zone == known[current]) return true;
    if (std::ranges::find(known, zone) == known.end()) known.push_back(zone);
    return false;
  }
};

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

std::vector<std::string> PoolStock::choose(const model::NodeRequest& request,
                                           const Preference& is_preferred) const {
  const std::vector<std::string>& labels = request.node_types;
  std::vector<std::string> best(labels.size());
  if (!request.reuse || labels.empty()) return best;
  const auto missing = [](const auto& plan) { return std::ranges::count(plan, std::string()); };
  Zones zones{{zone_with_many(labels)}};
  do {
    // Equal labels have the same ones: a search may pass thousands of nodes.
    std::map<std::string_view, std::vector<std::string>> found;
    std::vector<std::vector<std::string>> candidates;
    for (const std::string& label : labels) {
      const auto [entry, is_new] = found.try_emplace(label);
      // The request's other labels take at most size - 1 of them.
      if (is_new) entry->second = candidates_for(label, labels.size(), zones, is_preferred);
      candidates.push_back(entry->second);
    }
    std::vector<std::string> plan = match(candidates);
    if (missing(plan) < missing(best)) best = std::move(plan);
  } while (missing(best) > 0 && ++zones.current < zones.known.size());
  return best;
}

// The zone that first has a node for each occurrence of the first label. Absent: none has, or the
// nodes have no zone. Tried first, so that no decision passes all nodes of this zone in search of
// another one's.
model::SharedText PoolStock::zone_with_many(const std::vector<std::string>& labels) const {
  const auto wanted = std::ranges::count(labels, labels.front());
  std::map<std::string, std::ptrdiff_t> found;
  for (const std::string& id : nodes_.free(pool_.provider, pool_.name, labels.front())) {
    if (reserved_.contains(id)) continue;
    const model::SharedText& zone = nodes_.find(id)->az;
    if (++found[zone.value_or("")] == wanted) return zone;
  }
  return {};
}

// Up to `most` free nodes with the label in the current zone, the preferred ones first.
std::vector<std::string> PoolStock::candidates_for(const std::string& label, std::size_t most,
                                                   Zones& zones,
                                                   const Preference& is_preferred) const {
  std::vector<std::string> candidates;
  std::vector<std::string> others;
  for (const std::string& id : nodes_.free(pool_.provider, pool_.name, label)) {
    if (candidates.size() == most) break;
    if (reserved_.contains(id)) continue;
    // A single node may be of any zone.
    if (most > 1 && !zones.admits(nodes_.find(id)->az)) continue;
    if (is_preferred(id)) {
      candidates.push_back(id);
    } else if (others.size() < most) {
      others.push_back(id);
    }
  }
  others.resize(std::min(others.size(), most - candidates.size()));
  candidates.insert(candidates.end(), others.begin(), others.end());
  return candidates;
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
