#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "config/load.h"
#include "coordination/lock_sweeper.h"
#include "driver/provider_start_retrier.h"
#include "launcher/cleanup_worker.h"
#include "launcher/context.h"
#include "launcher/deleted_node_worker.h"
#include "launcher/expiry_worker.h"
#include "launcher/history_recorder.h"
#include "launcher/min_ready_worker.h"
#include "launcher/pool_worker.h"
#include "launcher/providers.h"
#include "launcher/stats_worker.h"
#include "model/daemon_state.h"
#include "model/followed_installation.h"
#include "model/records.h"
#include "model/registration.h"
#include "telemetry/health.h"

namespace nodepool::launcher {

// The launcher: owns the tables, the providers and the workers, and brings them into line with the
// configuration whenever that changes.
class Launcher {
 public:
  struct Options {
    std::string hostname;  // as gethostname() says
    std::string fqdn;
    std::optional<history::Journal> history = {};  // nothing: no history is written
    telemetry::Metrics metrics = {};
    // How many operations of the store have been asked for and not been answered; empty: nobody
    // knows.
    std::function<std::size_t()> store_queue = {};
    model::DaemonState state = {};                          // to begin with
    model::Records::Kinds records = model::Records::all();  // that it follows
    // For blocking calls: name look-ups mostly, each of which may take seconds.
    std::size_t threads = 8;
  };

  Launcher(const async::Runtime& runtime, coordination::Store& store,
           std::shared_ptr<telemetry::Log> log, const driver::DriverRegistry& drivers,
           const Options& options);
  ~Launcher();

  // Starts serving with `config`. Returns once all its pools are registered and serve. A provider
  // that cannot start is left out, with an error in the log, and tried again. Throws StoreError,
  // config::ConfigError.
  Task<> start(config::Config config);

  // Goes over to another configuration. Only what differs is touched: unchanged providers keep
  // running, with their pools and the requests in progress. Throws config::ConfigError before
  // anything has been changed.
  Task<> reconfigure(config::Config config);

  // Ends everything in order: no lock and no half-written record stays behind. The caller then
  // closes the store; the launcher and its pools are registered until that.
  Task<> stop();

  // The records as it knows them; they last as long as it does.
  model::Records& records() { return records_; }

  // What others may be shown of its work; they last as long as it does.
  const Providers& providers() const { return providers_; }
  const ResourceUsage& usage() const { return usage_; }
  HistoryRecorder& history() { return history_; }

  // Adds how things stand now.
  void add_metrics(telemetry::MetricsRegistry& registry);

  // Whether requests are being served, and what should be seen to.
  telemetry::Health health() const;

  // Publishes what the daemon knows of itself.
  void tell(const model::DaemonState& state);

 private:
  using PoolKey = std::pair<std::string, std::string>;  // provider, pool
  using ProviderConfigs = std::map<std::string, std::shared_ptr<const driver::ProviderConfig>>;

  Task<> apply(config::Config config);
  Task<> retire(ProviderInService provider);
  void retire_replaced();
  Task<bool> apply_config();
  Task<bool> start_late();
  bool has_all_providers() const;
  Task<> start_provider(const config::ProviderSection& section,
                        std::shared_ptr<const driver::ProviderConfig> config);
  Task<std::string> start_or_stop(std::shared_ptr<driver::Provider> provider);
  // The provider of this name that is being replaced; nullptr if there is none.
  driver::Provider* predecessor_of(const std::string& name) const;
  Task<> stop_pool_workers_without_pool();
  Task<> start_missing_pool_workers();
  // What a node takes whose record does not say; nothing if it is not served here.
  std::optional<Resources> label_resources(std::string_view provider, std::string_view pool,
                                           std::string_view label) const;
  void on_node(const model::NodeTable::Change& change);
  void on_component(const model::ComponentTable::Change& change);
  // A pool is waited for from now on.
  void mark_departed(const model::Component& pool);
  void mark_pools_departed(const driver::ProviderConfig& config);
  Task<> wait_for_departed_pools();
  Task<> wait_until_registered(std::vector<PoolWorker*> workers);
  std::vector<std::string> problems() const;
  void publish_state();
  void publish_problems();

  WorkerContext context_;
  coordination::LockSweeper lock_sweeper_;
  const driver::DriverRegistry& drivers_;
  telemetry::Metrics metrics_;
  telemetry::Logger log_;
  model::Records::Kinds kinds_;
  model::Records records_;
  async::ThreadPool threads_;
  HistoryRecorder history_;
  coordination::Subscription history_trouble_;
  model::FollowedInstallation installation_;
  model::Registration registration_;
  model::DaemonState state_;  // of the process
  std::vector<std::string> published_problems_;
  config::Config config_;   // in force, or about to be
  ProviderConfigs wanted_;  // its providers
  Providers providers_;
  Providers replaced_;  // by the configuration that is being gone over to
  driver::ProviderStartRetrier late_starts_;
  ResourceUsage usage_;
  planning::Deletions deletions_;
  planning::TenantLimits tenant_limits_;  // as configured now
  DepartedPools departed_pools_;
  std::set<std::string> own_pools_;  // component ids
  ServingContext serving_;
  std::map<PoolKey, std::unique_ptr<PoolWorker>> pool_workers_;
  DeletedNodeWorker deleted_nodes_;
  ExpiryWorker expiry_;
  CleanupWorker cleanup_;
  MinReadyWorker min_ready_;
  StatsWorker stats_;
  coordination::Subscription machines_;
  coordination::Subscription images_;
  std::map<std::string, coordination::Subscription> problem_sources_;  // by provider
  coordination::Subscription pools_;
  async::TaskScope tables_scope_;
  async::TaskScope retired_providers_;  // each until its last call has ended
  bool ready_ = false;
};

}  // namespace nodepool::launcher
