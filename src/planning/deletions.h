#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "model/node_table.h"
#include "planning/decision.h"
#include "planning/pool_identity.h"

namespace nodepool::planning {

// The nodes that are being deleted or were aborted, and since when: their capacity is about to
// become free. Updated with each change of a record. A deletion that was decided counts before its
// record is written: otherwise each pool of a full provider would evict a node for the same
// request.
class Deletions {
 public:
  explicit Deletions(model::NodeTable& nodes);

  // A deletion of the node was decided `now`, in seconds since the epoch.
  void expect(const model::Node& node, double now);

  // The expected deletion of the node has ended, successful or not: now its record counts.
  void stop_expecting(const std::string& id);

  // When the latest deletion until `until` started of a node that counts for the limit of this
  // pool, its provider or the tenant, in seconds since the epoch; 0: there is none.
  double latest(Decision::Shortage shortage, const PoolIdentity& pool, const std::string& tenant,
                double until) const;

 private:
  using Times = std::multiset<double>;

  // The owners of a node, and the start of its deletion in seconds since the epoch.
  struct Deletion {
    std::string provider;
    std::string pool;
    std::string tenant;
    double since = 0;
    bool is_recorded = true;
  };

  void on_node(const std::string& id, const model::Node* node);
  void add(const model::Node& node, double since, bool is_recorded);
  void forget(const std::string& id);

  std::map<std::string, Deletion> by_node_;
  std::map<std::string, Times> by_provider_;
  std::map<std::tuple<std::string, std::string>, Times> by_pool_;  // provider, name
  std::map<std::string, Times> by_tenant_;
  coordination::Subscription subscription_;
};

}  // namespace nodepool::planning
