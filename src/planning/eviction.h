#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/component.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "planning/decision.h"
#include "planning/deletions.h"
#include "planning/pool_identity.h"
#include "planning/pool_stock.h"
#include "planning/resource_usage.h"

namespace nodepool::planning {

// The capacity that a waiting request lacks.
struct CapacityWanted {
  Decision::Shortage shortage = Decision::Shortage::none;
  std::string tenant = {};               // the request's; empty: none
  std::vector<std::string> plan = {};    // the existing nodes that it will use
  double since = 0;                      // when it began to wait, in seconds since the epoch
  bool may_be_served_elsewhere = false;  // see below
};

struct EvictionFacts {
  double now = 0;                              // seconds since the epoch
  const PoolIdentity& pool;                    // the request waits for it
  std::vector<const model::Component*> pools;  // all that are registered
  const PoolStock& stock;
  const ResourceUsage& usage;
  const Deletions& deletions;
  const model::NodeTable& nodes;
};

// The action to free capacity. At most one of the two is set.
struct Eviction {
  std::optional<std::string> node = {};      // the node to delete
  std::optional<double> reevaluate_in = {};  // call again after so many seconds
};

// Whether a pool of another launcher may be about to serve the request. `pools`: all that are
// registered. `own_pools`: the ids of this launcher's.
bool may_be_served_elsewhere(const model::NodeRequest& request,
                             const std::vector<const model::Component*>& pools,
                             const std::set<std::string>& own_pools);

// Chooses a free node to delete for a waiting request: the oldest of the pool; of the tenant, if
// the tenant is at its limit; none that the request will use. Nodes of other pools are chosen only
// after the request has waited for 5 minutes; any, only after 2 seconds if it may be served
// elsewhere. Chooses none while another node that counts for the same limit is being deleted, for
// at most 5 minutes.
Eviction choose_eviction(const CapacityWanted& wanted, const EvictionFacts& facts);

}  // namespace nodepool::planning
