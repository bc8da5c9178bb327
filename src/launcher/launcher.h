#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "config/load.h"
#include "coordination/lock_sweeper.h"
#include "launcher/cleanup_worker.h"
#include "launcher/context.h"
#include "launcher/deleted_node_worker.h"
#include "launcher/expiry_worker.h"
#include "launcher/history_recorder.h"
#include "launcher/min_ready_worker.h"
#include "launcher/pool_worker.h"
#include "launcher/providers.h"
#include "launcher/stats_worker.h"
#include "lifecycle/provider_set.h"
#include "model/daemon_state.h"
#include "model/followed_installation.h"
#include "model/records.h"
#include "model/registration.h"
#include "telemetry/health.h"

namespace nodepool::launcher {

// The launcher: owns the tables, the providers and the workers, and applies the configuration to
// them.
class Launcher : private lifecycle::ProviderSet::User {
 public:
  struct Options {
    std::string hostname;  // as gethostname() returns
    std::string fqdn;
    std::optional<history::Journal> history = {};  // nothing: no history is written
    telemetry::Metrics metrics = {};
    // The number of store operations in progress; empty: unknown.
    std::function<std::size_t()> store_queue = {};
    model::DaemonState state = {};                          // to begin with
    model::Records::Kinds records = model::Records::all();  // that it follows
    // For blocking calls, mostly name lookups, which may take seconds.
    std::size_t threads = 8;
  };

  Launcher(const async::Runtime& runtime, coordination::Store& store,
           std::shared_ptr<telemetry::Log> log, const driver::DriverRegistry& drivers,
           const Options& options);
  ~Launcher() override;

  // Starts serving with `config`. Returns when all its pools are registered and serve. If a
  // provider cannot start, logs an error and retries later. Throws StoreError, config::ConfigError.
  Task<> start(config::Config config);

  // Applies a new configuration. Unchanged providers keep running, with their pools and the
  // requests in progress. Throws config::ConfigError before it changes anything.
  Task<> reconfigure(config::Config config);

  // Stops gracefully, without leaving locks or half-written records. The launcher and its pools
  // stay registered until the caller closes the store.
  Task<> stop();

  // The tables of records. They live as long as the launcher.
  model::Records& records() { return records_; }

  // For the status pages. They live as long as the launcher.
  const Providers& providers() const { return providers_; }
  const ResourceUsage& usage() const { return usage_; }
  // Also the providers that are not in service, and why they could not start.
  const lifecycle::ProviderSet& provider_set() const { return provider_set_; }
  HistoryRecorder& history() { return history_; }
  // The component ids of the pools that it serves.
  const std::set<std::string>& own_pools() const { return own_pools_; }

  // Adds the current values of gauges and counters.
  void add_metrics(telemetry::MetricsRegistry& registry);

  // Whether requests are being served, and the problems.
  telemetry::Health health() const;

  // Publishes the state of the daemon.
  void set_state(const model::DaemonState& state);

 private:
  using PoolKey = std::pair<std::string, std::string>;  // provider, pool

  void put_in_service(std::shared_ptr<driver::Provider> provider) override;
  Task<> take_out_of_service(std::string name) override;
  Task<> adapt(const config::Config& config) override;
  // The provider in service that has the pool; nullptr: none.
  const ProviderInService* provider_of(const PoolKey& key) const;
  // Adds the missing workers. Returns those that do not serve yet.
  std::vector<PoolWorker*> add_pool_workers();
  void reconfigure_pool_workers();
  // Of pools that are no longer configured.
  Task<> remove_pool_workers();
  // The resources of a node whose record lacks them. Returns nothing if it is not served here.
  std::optional<Resources> label_resources(std::string_view provider, std::string_view pool,
                                           std::string_view label) const;
  void on_node(const model::NodeTable::Change& change);
  void on_component(const model::ComponentTable::Change& change);
  // Logs a warning for each provider that a Python launcher has begun to serve, too. Own pools that
  // leave and come back, for example with a new session, do not repeat it.
  void warn_of_python_launchers();
  // Requests wait for the pool from now on.
  void mark_departed(const model::Component& pool);
  Task<> wait_for_departed_pools();
  Task<> wait_until_registered(std::vector<PoolWorker*> workers);
  Task<> stop_all_workers();
  std::vector<std::string> problems() const;
  void publish_state();
  // Publishes problems that have changed, at most once a second.
  Task<> publish_problems();

  model::Records::Kinds kinds_;
  model::Records records_;
  WorkerContext context_;
  telemetry::Logger log_;
  coordination::LockSweeper lock_sweeper_;
  async::ThreadPool threads_;
  HistoryRecorder history_;
  model::FollowedInstallation installation_;
  model::Registration registration_;
  model::DaemonState state_;  // of the process
  std::vector<std::string> published_problems_;
  async::Event problems_due_{"an image or a provider changed"};
  Providers providers_;
  // By provider. A replaced provider is in use while it has launches, and by its pools.
  std::map<std::string, std::weak_ptr<ProviderLaunches>> launches_;
  lifecycle::ProviderSet provider_set_;
  ResourceUsage usage_;
  planning::Deletions deletions_;
  planning::TenantLimits tenant_limits_;  // as configured now
  DepartedPools departed_pools_;
  HandledRequests handled_requests_;
  planning::StarvedRequests starved_;
  std::set<std::string> own_pools_;  // component ids
  ServingContext serving_;
  std::map<PoolKey, std::unique_ptr<PoolWorker>> pool_workers_;
  DeletedNodeWorker deleted_nodes_;
  ExpiryWorker expiry_;
  CleanupWorker cleanup_;
  MinReadyWorker min_ready_;
  StatsWorker stats_;
  coordination::Subscription history_problem_;
  coordination::Subscription machines_;
  coordination::Subscription images_;
  std::map<std::string, coordination::Subscription> problem_sources_;  // by provider
  std::set<std::string> of_both_kinds_;  // providers whose Python launcher has been logged
  coordination::Subscription pools_;
  async::TaskScope tables_scope_;
  bool ready_ = false;
};

}  // namespace nodepool::launcher
