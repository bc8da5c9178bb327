#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "model/node_table.h"
#include "planning/decision.h"
#include "planning/pool_identity.h"

namespace nodepool::planning {

// The nodes that are being deleted, and since when: their capacity is about to become free. Updated
// with each change of a record.
class Deletions {
 public:
  explicit Deletions(model::NodeTable& nodes);

  // When the latest deletion started of a node that counts for the limit of this pool, its provider
  // or the tenant, in seconds since the epoch; 0: none is being deleted.
  double latest(Decision::Shortage shortage, const PoolIdentity& pool,
                const std::string& tenant) const;

 private:
  using Times = std::multiset<double>;

  // The owners of a node, and the start of its deletion in seconds since the epoch.
  struct Deletion {
    std::string provider;
    std::string pool;
    std::string tenant;
    double since = 0;
  };

  void on_node(const std::string& id, const model::Node* node);
  void forget(const std::string& id);

  std::map<std::string, Deletion> by_node_;
  std::map<std::string, Times> by_provider_;
  std::map<std::tuple<std::string, std::string>, Times> by_pool_;  // provider, name
  std::map<std::string, Times> by_tenant_;
  coordination::Subscription subscription_;
};

}  // namespace nodepool::planning
