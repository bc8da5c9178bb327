#pragma once

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

// What a pool does about a request: pure functions of what is known at that moment, so that the
// same code decides, is unit-tested as a table, and explains itself to an operator.
//
// The order of the rules is that of the Python Nodepool, but that a request is declined before it
// waits. One request is served by exactly one pool; it fails only when every registered pool has
// declined it.
namespace nodepool::planning {

// The requestor of the requests that keep `min-ready` nodes.
inline constexpr std::string_view kMinReadyRequestor = "NodePool:min-ready";

struct Decision {
  enum class Kind {
    accept,   // serve it
    decline,  // this pool can never serve it: add the pool to `declined_by`
    fail,     // every pool has declined it
    wait,     // not now, see `until`
    ignore,   // it is not this pool's business
  };
  // What lets a waiting request go on.
  enum class Until {
    nothing,
    registry_changes,  // another pool should serve it: it may go away, pause, or decline
    quota_is_known,    // of the provider
    capacity_is_free,  // a node that would do becomes free, or nodes take less than now
    tenant_takes_less,
    earlier_one_is_served,  // that of the reason, or it goes, or waits for something else
    launch_ends,            // of the provider
  };

  Kind kind = Kind::ignore;
  Until until = Until::nothing;
  Reason reason = {};
  // Whose limit is reached: an idle node that counts for it may make room.
  enum class Shortage { none, pool, provider, tenant };
  Shortage shortage = Shortage::none;

  friend bool operator==(const Decision&, const Decision&) = default;
};

// For people: "a node is free or gone".
std::string_view to_string(Decision::Until until);

// For people: "accepts", "waits: the pool is full: … (until a node is free or gone)".
std::string sentence(const Decision& decision);

// For programs, a JSON object: {"pool": …, "decision": "waits", "reason": "pool-full", "subject":
// …, "figures": …}. What says nothing is left out. Its names are stable.
std::string to_json(const Decision& decision, std::string_view pool_id);

// The pool that decides.
struct PoolView {
  const model::Component* component = nullptr;  // its own, as registered
  std::int64_t max_concurrency = -1;  // of the provider; 0 accepts nothing, < 0: unlimited
};

// The rules that look at the registered pools only: who is to serve the request? Nothing if it is
// this pool's turn to judge what it can do. `pools` are all registered pools, this one among them.
// `expected`: a pool that is gone, and may be back to serve the request; empty: none.
std::optional<Decision> check_eligibility(const model::NodeRequest& request, const PoolView& own,
                                          const std::vector<const model::Component*>& pools,
                                          std::string_view expected = {});

// What serving one request would take, and what there is.
struct EvaluationInput {
  bool launches = false;  // false: the pool only hands out nodes that exist
  // Labels without a free node: to be launched, or to wait for.
  std::vector<std::string> missing;
  // Why the provider cannot serve one of the wanted labels for now; empty: it can.
  std::string label_problem;

  // Of pools that only hand out: how many nodes of each wanted label the pool has with everything
  // in good order (nothing: no bound), and whether these can carry the wanted labels at once.
  std::map<std::string, std::optional<std::int64_t>> capacity;
  bool has_all_at_once = true;

  // Quotas. `used` counts what has been promised to other requests as well.
  driver::Resources needs_of_all;      // all the wanted nodes
  driver::Resources needs_of_missing;  // those that are missing
  driver::Resources needs_of_tenant;   // those that do not count for the request's tenant already
  driver::Limits pool_limits;
  driver::Resources used_by_pool;
  std::optional<driver::Limits> provider_limits;  // nothing: not known yet, see below
  std::string why_unknown;
  driver::Resources used_by_provider;
  bool refused = false;                         // the provider has just refused a launch
  std::optional<driver::Limits> tenant_limits;  // nothing: the request's tenant has none
  driver::Resources used_by_tenant;

  std::int64_t active_launches = 0;  // of the provider, over all its pools
  // The earlier request that may not be passed any more; empty: none.
  std::string behind;
};

// What the pool does about a request that check_eligibility() has left to it.
Decision evaluate(const model::NodeRequest& request, const PoolView& own,
                  const EvaluationInput& input);

// Whether all registered pools have declined the request. If there are none, who knows?
bool declined_by_all(const model::NodeRequest& request,
                     const std::vector<const model::Component*>& pools);

// Several launchers may serve the same pool of the same provider. Which of them something falls to,
// so that they do not contend for every lock, is settled by highest-random-weight hashing: the id
// of one of the pools, always the same one for the same `subject`. It is a preference: the lock
// decides. `pools` is not empty.
const std::string& preferred(std::string_view subject,
                             const std::vector<const model::Component*>& pools);

// The pools of the same name and provider that could serve the request as well as `own`, which is
// one of them.
std::vector<const model::Component*> peers(const model::NodeRequest& request,
                                           const model::Component& own,
                                           const std::vector<const model::Component*>& pools);

}  // namespace nodepool::planning
