#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/component.h"
#include "model/node_table.h"
#include "planning/decision.h"
#include "planning/deletions.h"
#include "planning/pool_identity.h"
#include "planning/pool_stock.h"
#include "planning/resource_usage.h"

namespace nodepool::planning {

// What a waiting request lacks room for.
struct CapacityWanted {
  Decision::Shortage shortage = Decision::Shortage::none;
  std::string tenant = {};             // the request's; empty: none
  std::vector<std::string> plan = {};  // the existing nodes that it is going to have
  double since = 0;                    // when it was made, in seconds since the epoch
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

// What is done to make room. At most one of the two is said.
struct Eviction {
  std::optional<std::string> node = {};  // it is to be deleted
  std::optional<double> reevaluate_in =
      {};  // in so many seconds, though nothing may happen till then
};

// Makes room for a waiting request: the pool's oldest node that nobody has asked for goes, one of
// the tenant's if that is who is at its limit; but none that the request is going to have. Nodes of
// other pools are theirs to give up, unless the request has waited long for room that these have:
// nothing else might ever end it. One at a time: not while some node that counts for the same limit
// is being deleted anyway, unless that takes long.
Eviction choose_eviction(const CapacityWanted& wanted, const EvictionFacts& facts);

}  // namespace nodepool::planning
