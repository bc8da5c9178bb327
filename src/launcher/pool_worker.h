#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "launcher/context.h"
#include "launcher/idle_node_evictor.h"
#include "launcher/interrupted_launches.h"
#include "launcher/peer_deferral.h"
#include "launcher/requests_in_progress.h"
#include "model/registration.h"
#include "planning/decision.h"
#include "planning/pool_stock.h"
#include "planning/request_queue.h"

namespace nodepool::launcher {

using planning::Decision;
using planning::PoolStock;
using planning::RequestQueue;
using planning::Verdict;

// Serves requests with one pool of one provider. Sleeps until a relevant record changes, decides
// (planning/decision.h), and has the decision carried out (launcher/requests_in_progress.h).
class PoolWorker {
 public:
  PoolWorker(const ServingContext& context, ProviderInService provider, std::string pool);

  // Registers the pool. A launcher registers all its pools before the first one serves, because a
  // request that no registered pool can serve fails. Throws StoreError.
  Task<> start();

  // Whether this pool is in the table of components.
  bool is_registered() const;

  // Starts serving. Call it once.
  void serve();

  // Whether serve() has been called, and stop() has not.
  bool is_serving() const { return !subscriptions_.empty(); }

  // Applies a new configuration, with a new provider object if it has changed. Requests in progress
  // continue with the old one.
  void reconfigure(ProviderInService provider);

  // Ends the requests in progress. They become `requested` again, except those with launches, which
  // stay `pending` to be resumed. The pool stays registered until the session ends.
  Task<> stop();

  // Stops and unregisters a pool that is no longer configured.
  Task<> unregister();

  // "<fqdn>-PoolWorker.<provider>-<pool>-<32 hex digits>".
  const std::string& id() const { return identity_.id; }

 private:
  using ServiceKey = RequestQueue::ServiceKey;

  void observe();
  void observe_provider();
  void on_request(const model::RequestTable::Change& change);
  void on_release(const std::string& request_id);
  void no_longer_starved(const ServiceKey& key);
  void on_node(const std::string& id);
  void on_component(const model::ComponentTable::Change& change);
  void enqueue_all();
  void wake_if_due();

  Task<> run();
  void consider(const ServiceKey& key);
  void carry_out(const ServiceKey& key, const model::NodeRequest& request, Verdict verdict);
  void publish_if_starved(const model::NodeRequest& request, const Decision& decision);
  void choose_eviction(const model::NodeRequest& request, const Decision& decision,
                       std::vector<std::string> plan);
  void handler_has_ended();
  void evaluate_again(const std::string& request_id);

  planning::Facts facts();
  bool is_preferred(const model::NodeRequest& request) const;
  bool defers_to_peer(const model::NodeRequest& request);
  bool is_paused() const;
  void publish_whether_paused();

  bool is_own(const model::Node& node) const;
  model::Component component() const;
  const driver::PoolConfig& pool_config() const;

  const ServingContext& context_;
  ProviderInService provider_;
  PoolIdentity identity_;
  telemetry::Logger log_;

  RequestQueue queue_;
  model::Registration registration_;
  async::Event wake_{"a request, node or pool changed"};
  PoolStock stock_;
  IdleNodeEvictor idle_node_evictor_;
  RequestsInProgress requests_;
  InterruptedLaunches interrupted_launches_;
  std::set<std::string, std::less<>> passed_over_;  // while another pool handled them
  // Published: they wait for this resource of the provider.
  std::map<ServiceKey, std::string> starved_;
  PeerDeferral deferral_;  // of requests, to another launcher's worker of the same pool
  std::vector<coordination::Subscription> subscriptions_;
  coordination::Subscription provider_subscription_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
