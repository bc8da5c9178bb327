#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/resources.h"
#include "model/component.h"
#include "model/node_request.h"
#include "planning/reason.h"

// A pool's decision about a request: pure functions of the known facts. The same code decides in
// the launcher and explains decisions to operators.
//
// The rules have the order of the Python Nodepool, except that a request is declined before it
// waits. A request is served by exactly one pool. It fails only when every registered pool has
// declined it.
namespace nodepool::planning {

// The requestor of the requests that keep `min-ready` nodes.
inline constexpr std::string_view kMinReadyRequestor = "NodePool:min-ready";

// The most nodes of one request. They are allocated in one transaction, which stores limit to about
// a megabyte.
inline constexpr std::size_t kMostNodes = 1000;

struct Decision {
  enum class Kind {
    accept,   // serve it
    decline,  // this pool can never serve it: add the pool to `declined_by`
    fail,     // every pool has declined it
    wait,     // not now, see `until`
    ignore,   // not for this pool
  };
  // The event that ends the wait.
  enum class Until {
    nothing,
    registry_changes,  // the pool that should serve it deregisters, pauses or declines
    quota_is_known,    // of the provider
    capacity_is_free,  // a suitable node becomes free, or usage decreases
    tenant_takes_less,
    tenant_limit_is_raised,  // in the configuration, or the nodes need less
    earlier_one_is_served,  // the one in the reason is served, deleted, or waits for something else
    launch_ends,            // of the provider
    refusal_ends,           // launches of the label are not suspended any more
  };

  Kind kind = Kind::ignore;
  Until until = Until::nothing;
  Reason reason = {};
  // Whose limit is reached. Evicting an idle node that counts for it may help.
  enum class Shortage { none, pool, provider, tenant };
  Shortage shortage = Shortage::none;

  friend bool operator==(const Decision&, const Decision&) = default;
};

// The pool that decides.
struct PoolView {
  const model::Component* component = nullptr;  // its own, as registered
  std::int64_t max_concurrency = -1;  // of the provider; 0 accepts nothing, < 0: unlimited
};

// Applies the rules that depend on the registered pools only. Returns nothing if this pool has to
// evaluate() the request. `pools` are all registered pools, including this one. `expected`: a pool
// that deregistered recently and may return to serve the request; empty: none.
std::optional<Decision> check_eligibility(const model::NodeRequest& request, const PoolView& own,
                                          const std::vector<const model::Component*>& pools,
                                          std::string_view expected = {});

// The needs of one request, and the available capacity.
struct EvaluationInput {
  bool launches = false;  // false: the pool only has existing nodes
  // Labels without a free node: launched or waited for.
  std::vector<std::string> missing;
  // Why the provider cannot serve one of the labels now; empty: it can.
  std::string label_problem;
  bool is_problem_on_record = false;  // not what the cloud has told

  // Of pools that do not launch nodes, if fully healthy: the number of nodes of each label
  // (nothing: unlimited), and whether they can provide all labels at once.
  std::map<std::string, std::optional<std::int64_t>> capacity;
  bool has_all_at_once = true;

  // Quotas. `used` includes reservations for other requests.
  driver::Resources needs_of_all;      // of all requested nodes
  driver::Resources needs_of_missing;  // of missing nodes
  driver::Resources needs_of_tenant;   // of nodes that do not count for the tenant yet
  driver::Limits pool_limits;
  driver::Resources used_by_pool;
  std::optional<driver::Limits> provider_limits;  // nothing: unknown, see why_unknown
  std::string why_unknown;
  driver::Resources used_by_provider;
  // The missing label that the provider has recently refused to launch; empty: none.
  std::string refused;
  std::optional<driver::Limits> tenant_limits;  // nothing: the request's tenant has none
  driver::Resources used_by_tenant;
  bool others_defer = false;  // see others_defer()

  std::int64_t active_launches = 0;  // of the provider, over all its pools
  // The earlier starved request that is served first; empty: none.
  std::string behind;
};

// Decides about a request for which check_eligibility() returned nothing.
Decision evaluate(const model::NodeRequest& request, const PoolView& own,
                  const EvaluationInput& input);

// Whether one of `pools` could serve the request, but leaves it to `own` until that declines.
bool others_defer(const model::NodeRequest& request, const model::Component& own,
                  const std::vector<const model::Component*>& pools);

// Whether all registered pools have declined the request. False if there are none.
bool declined_by_all(const model::NodeRequest& request,
                     const std::vector<const model::Component*>& pools);

// Chooses one of several launchers of the same pool by highest-random-weight hashing, so that they
// do not contend for every lock. Returns the id of one of `pools`, always the same for the same
// `subject`. Only a preference: the lock decides. `pools` is not empty.
const std::string& preferred(std::string_view subject,
                             const std::vector<const model::Component*>& pools);

// The pools of the same name and provider that could serve the request, including `own`.
std::vector<const model::Component*> peers(const model::NodeRequest& request,
                                           const model::Component& own,
                                           const std::vector<const model::Component*>& pools);

}  // namespace nodepool::planning
