#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/component.h"
#include "model/node_request.h"

// What a pool does about a request: pure functions of what is known at that moment, so that the
// same code decides, is unit-tested as a table, and explains itself to an operator.
namespace nodepool::launcher {

// The pool that decides.
struct PoolView {
  std::string id;  // of its component
  std::string provider;
  std::optional<std::int64_t> max_servers;
  std::int64_t max_concurrency = -1;  // of the provider; 0 accepts nothing, negative: unlimited
  std::int64_t active_launches = 0;   // of the provider, over all its pools
  bool has_all_at_once = true;        // the request's labels, with everything in good order
  bool launches_nodes = false;        // false: only hands out nodes that exist
  const model::Component* component = nullptr;  // labels and priority as registered
};

// Nodes of one label in the deciding pool.
struct LabelSupply {
  std::int64_t free = 0;                 // could be handed out now
  std::optional<std::int64_t> capacity;  // with everything in good order; nothing: no bound
};

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
    registry_changes,    // another pool should serve it: it may go away, pause, or decline
    label_is_available,  // a node with `label` becomes free
    launch_slot_is_free,
  };

  Kind kind = Kind::ignore;
  Until until = Until::nothing;
  std::string label;
  std::string reason;                          // for people
  std::vector<std::string> other_labels = {};  // a node with one of these will do as well
};

// Decides about one request. `pools` are all registered pools, this one among them. `supply` says
// what the pool has of a label.
//
// The order of the rules is that of the Python Nodepool. (One request is served by exactly one
// pool; a request fails only when every registered pool has declined it.)
Decision decide(const model::NodeRequest& request, const PoolView& own,
                const std::vector<const model::Component*>& pools,
                const std::function<LabelSupply(std::string_view label)>& supply);

// Whether all registered pools have declined the request.
bool declined_by_all(const model::NodeRequest& request,
                     const std::vector<const model::Component*>& pools);

}  // namespace nodepool::launcher
