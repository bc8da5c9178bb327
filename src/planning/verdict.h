#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
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
#include "planning/starved_requests.h"

namespace nodepool::planning {

// A pool and one of its labels.
using PoolLabel = std::pair<std::string, std::string>;

// A snapshot of a provider's quota.
struct QuotaFacts {
  std::optional<driver::Limits> available = {};  // nothing: not known
  std::string why_unknown = {};                  // empty: no response yet
  std::set<PoolLabel> refused = {};              // it has just refused to launch these
  bool is_stale = false;                         // it, and the offer, are being read again
  std::int64_t launches_under_way = 0;           // over all its pools
};

using TenantLimits = std::map<std::string, config::TenantLimits>;

// The facts of a pool's decision. The launcher updates them with each event; `nodepool explain`
// computes them from the records. The same facts lead to the same verdict.
struct Facts {
  const model::Component& own;                 // the pool, as registered
  std::vector<const model::Component*> pools;  // all that are registered
  const driver::ProviderConfig& provider;
  std::shared_ptr<const driver::Offer> offer;
  QuotaFacts quota;
  const TenantLimits& tenant_limits;
  const ResourceUsage& usage;
  const PoolStock& stock;
  const RequestQueue& queue;       // advanced to the present
  const StarvedRequests& starved;  // of all pools
  const model::NodeTable& nodes;
  const model::RequestTable& requests;
  std::size_t requests_in_progress = 0;  // that the pool is serving
  // The departed pool that may return to serve a request declined by all registered pools; empty:
  // none.
  std::function<std::string(const model::NodeRequest&)> expected_pool;
};

// The limits for the nodes of a request. Resources without an entry are unlimited or unknown.
struct QuotaBounds {
  driver::Limits provider;
  driver::Limits pool;
  driver::Limits tenant;
};

struct Verdict {
  Decision decision;
  // The needs of the request. Only the plan if it is not accepted; empty if it was not evaluated.
  ReservationSpec reservation = {};
  QuotaBounds bounds = {};
};

// Decides about a waiting request.
Verdict decide(const model::NodeRequest& request, const Facts& facts);

}  // namespace nodepool::planning
