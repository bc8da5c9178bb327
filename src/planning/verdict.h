#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "driver/driver.h"
#include "model/component.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "planning/decision.h"
#include "planning/pool_stock.h"
#include "planning/request_queue.h"
#include "planning/reservation.h"
#include "planning/resource_usage.h"

namespace nodepool::planning {

// What is known of the room in a provider's cloud at one moment.
struct QuotaFacts {
  std::optional<driver::Limits> available = {};  // nothing: not known
  std::string why_unknown = {};                  // empty: it has not answered yet
  bool is_refusing = false;                      // it has just refused a launch
  std::int64_t launches_under_way = 0;           // over all its pools
};

using TenantLimits = std::map<std::string, config::TenantLimits>;

// All that a pool decides by. Whoever has the same facts comes to the same verdict: the launcher,
// which keeps them up to date event by event, and `nodepool explain`, which makes them from the
// records.
struct Facts {
  double now = 0;                              // seconds since the epoch
  const model::Component& own;                 // the pool, as registered
  std::vector<const model::Component*> pools;  // all that are registered
  const driver::Provider& provider;
  QuotaFacts quota;
  const TenantLimits& tenant_limits;
  const ResourceUsage& usage;
  const PoolStock& stock;
  RequestQueue& line;
  const model::NodeTable& nodes;
  const model::RequestTable& requests;
  std::size_t in_hand = 0;  // requests that the pool is serving
  // The pool that is gone, and may be back to serve a request that all others have declined; empty:
  // none.
  std::function<std::string(const model::NodeRequest&)> expected_pool;
};

// What the nodes of a request may take at most; nothing: no limit, or none that is known.
struct QuotaBounds {
  driver::Limits provider;
  driver::Limits pool;
  driver::Limits tenant;
};

struct Verdict {
  Decision decision;
  // What serving the request takes; only the plan if it is not accepted, empty if it was not asked
  // what there is.
  ReservationSpec reservation = {};
  QuotaBounds bounds = {};
};

// What the pool does about a request that waits.
Verdict decide(const model::NodeRequest& request, const Facts& facts);

}  // namespace nodepool::planning
