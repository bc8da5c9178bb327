#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "launcher/context.h"
#include "launcher/providers.h"

namespace nodepool::launcher {

// How long nodes may stay as they are; from the configuration. Seconds.
struct NodeAges {
  std::optional<std::int64_t> max_hold_age;  // nothing: no limit
  std::optional<std::int64_t> max_lease;     // renewals included; nothing: no limit
  std::map<std::string, std::int64_t, std::less<>> max_ready_age;  // by label; none or 0: no limit

  friend bool operator==(const NodeAges&, const NodeAges&) = default;
};

// When the node has lasted too long as it is, in seconds since the epoch; nothing if it may stay:
// a lease at its expiry or at the end of `max-lease` (the earlier), a held node by `max-hold-age`
// and its own `hold_expiration` (the earlier), a ready node that nobody has by the `max-ready-age`
// of any of its labels.
std::optional<double> expiry(const model::Node& node, const NodeAges& ages);

// Ends what has lasted too long: an expired lease makes its nodes `used` and unlocked, held and
// ready nodes beyond their age become `deleting`; their provider then takes them back like any
// other. It sleeps until the next node is due.
class ExpiryWorker {
 public:
  ExpiryWorker(const WorkerContext& context, const Providers& providers);

  // Begins to work.
  void start();

  // Goes over to other limits, and looks at all nodes: the providers may have changed as well.
  void reconfigure(NodeAges ages);

  // Ends the work in progress.
  Task<> stop();

 private:
  void reevaluate(const std::string& id);
  void reevaluate_all();
  void forget(const std::string& id);
  Task<> run();
  Task<> end(std::string id);
  Task<> end_lease(model::Node node);
  Task<> retire(std::string id);
  bool is_due(const model::Node& node) const;

  const WorkerContext& context_;
  const Providers& providers_;
  telemetry::Logger log_;
  NodeAges ages_;
  std::map<std::string, double, std::less<>> expiry_;        // node id -> seconds since the epoch
  std::set<std::pair<double, std::string>> next_to_expire_;  // the same, by time
  async::Event changed_{"the next expiry changed"};
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
