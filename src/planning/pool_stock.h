#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "driver/offer.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "planning/pool_identity.h"

namespace nodepool::planning {

// The free nodes of one pool, without those that its worker has reserved.
class PoolStock {
 public:
  PoolStock(const model::NodeTable& nodes, const PoolIdentity& pool);

  // Sets PoolOffer::inventory of the pool.
  void reconfigure(std::optional<driver::Inventory> inventory);

  using Preference = std::function<bool(const std::string& id)>;

  // A free node for each label of the request; empty if there is none, or the request requires new
  // nodes. A node with several labels serves one of them. All that have a zone are of the same one,
  // of a zone that can serve all labels if there is one. Prefers nodes for which `is_preferred`
  // returns true.
  std::vector<std::string> choose(const model::NodeRequest& request,
                                  const Preference& is_preferred) const;

  // Reserves and releases the nodes of `plan`.
  void reserve(const std::vector<std::string>& plan);
  void release(const std::vector<std::string>& plan);
  bool is_reserved(const std::string& id) const { return reserved_.contains(id); }

  // How many nodes with the label a fully healthy pool has. Returns nothing if unlimited.
  std::optional<std::int64_t> capacity(std::string_view label) const;

  // Whether a fully healthy pool can provide nodes with all these labels at once.
  bool has_all_at_once(const std::vector<std::string>& labels) const;

  // The labels of all nodes with one of `labels`: requests for any of them compete for the same
  // nodes.
  std::set<std::string, std::less<>> rivals(const std::vector<std::string>& labels) const;

 private:
  struct Zones;

  model::SharedText zone_with_many(const std::vector<std::string>& labels) const;
  std::vector<std::string> candidates_for(const std::string& label, std::size_t most, Zones& zones,
                                          const Preference& is_preferred) const;

  const model::NodeTable& nodes_;
  const PoolIdentity& pool_;
  std::optional<driver::Inventory> inventory_;
  std::map<std::string, std::int64_t, std::less<>> capacity_;  // by label
  // A decision may skip thousands of them.
  std::unordered_set<std::string> reserved_;
  // Label -> all labels of the nodes with it.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> companions_;
};

}  // namespace nodepool::planning
