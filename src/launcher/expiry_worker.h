#pragma once

#include <cstdint>
#include <exception>
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

// The configured maximum ages of nodes in seconds.
struct NodeAges {
  std::optional<std::int64_t> max_hold_age;  // nothing: no limit
  std::optional<std::int64_t> max_lease;     // renewals included; nothing: no limit
  std::map<std::string, std::int64_t, std::less<>> max_ready_age;  // by label; none or 0: no limit

  friend bool operator==(const NodeAges&, const NodeAges&) = default;
};

// When the node expires, in seconds since the epoch: a lease at its expiry or at the end of
// `max-lease`, a held node by `max-hold-age` or its own `hold_expiration`, a free ready node by the
// lowest `max-ready-age` of its labels; the earlier one each. Returns nothing without a limit.
std::optional<double> expiry(const model::Node& node, const NodeAges& ages);

// Expires nodes: the nodes of an expired lease, whatever their provider, become `used` and
// unlocked; held and ready nodes of the given providers beyond their maximum age become `deleting`.
// The DeletedNodeWorker of a launcher with their provider then reclaims them. Sleeps until the next
// expiry.
class ExpiryWorker {
 public:
  ExpiryWorker(const WorkerContext& context, const Providers& providers);

  // Starts the work.
  void start();

  // Applies new limits, and checks all nodes, as the providers may have changed too.
  void reconfigure(NodeAges ages);

  // Ends the work in progress.
  Task<> stop();

 private:
  void reevaluate(const std::string& id);
  void reevaluate_all();
  void forget(const std::string& id);
  Task<> run();
  Task<> end(std::string id);
  Task<> try_to_end(std::string id);
  void report(const std::string& id, const std::exception& error, bool is_outage);
  Task<> end_lease(model::Node node);
  Task<> retire(std::string id);
  std::optional<double> expiry_of(const model::Node& node) const;
  bool is_due(const model::Node& node) const;

  const WorkerContext& context_;
  const Providers& providers_;
  telemetry::Logger log_;
  NodeAges ages_;
  std::map<std::string, double, std::less<>> expiry_;        // node id -> seconds since the epoch
  std::set<std::pair<double, std::string>> next_to_expire_;  // by time
  std::set<std::string, std::less<>> ending_;    // being ended, or waiting for the next attempt
  std::set<std::string, std::less<>> reported_;  // with a failure that may last
  async::Event changed_{"the next expiry changed"};
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
