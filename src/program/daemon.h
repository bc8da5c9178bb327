#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/signals.h"
#include "async/task_scope.h"
#include "config/config.h"
#include "coordination/store.h"
#include "driver/driver.h"
#include "model/daemon_state.h"
#include "program/background.h"
#include "program/config_follower.h"
#include "program/daemon_store.h"
#include "program/options.h"
#include "program/service_manager.h"
#include "telemetry/health.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "telemetry/metrics_registry.h"
#include "telemetry/stack_dump.h"

namespace nodepool::program {

using async::Task;

// The common part of the daemons: loads the configuration and follows its changes, opens the store,
// handles signals. Subclasses implement the service.
class Daemon {
 public:
  // `logger` is the name of its logger.
  Daemon(const Options& options, std::shared_ptr<telemetry::Log> log, const std::string& logger);
  virtual ~Daemon() = default;
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Serves until a signal ends it. Throws what ended it otherwise.
  void run(StartReport& report);

 protected:
  // The drivers of providers. Lives as long as the daemon.
  virtual const driver::DriverRegistry& drivers() const = 0;

  // Starts the parts that work without the store; start() follows when it is open. Does nothing by
  // default.
  virtual Task<> start_without_store(const config::Config& config);
  // Starts the service; the store is open. If this throws, the daemon exits, unless the store has
  // become unreachable or full. Then stop() follows, and another start() with a new store().
  virtual Task<> start(config::Config config) = 0;
  // Applies another configuration. Throws: the previous one stays in effect.
  virtual Task<> reconfigure(config::Config config) = 0;
  // The changed keys that take effect only after a restart: those that differ between `begun`, the
  // configuration of start_without_store(), and `now`. None by default.
  virtual std::vector<std::string> fixed_keys_changed(const config::Config& begun,
                                                      const config::Config& now) const;
  // Stops everything, also after a start that failed, or without start().
  virtual Task<> stop() = 0;
  // Problems of the parts that start_without_store() has started, as sentences, for the component's
  // record. Called every few seconds. None by default.
  virtual std::vector<std::string> early_problems() const;
  // Called when state() has changed.
  virtual void state_has_changed() {}
  // Returns when the daemon has to end: by default at the first SIGINT, SIGTERM or SIGUSR1.
  virtual Task<> wait_for_end(async::Signals& signals);

  // Waits for a signal, and logs it.
  Task<int> next_signal(async::Signals& signals);

  const async::Runtime& runtime() const { return runtime_; }
  coordination::Store& store() { return store_.store(); }
  const std::shared_ptr<telemetry::Log>& log_sink() const { return log_sink_; }
  const telemetry::Logger& log() const { return log_; }
  const telemetry::Metrics& metrics() const { return metrics_; }
  // Collects metrics for Prometheus. Call it before run().
  void enable_registry();
  // The collected metrics and those of the process. Only after enable_registry().
  telemetry::MetricsRegistry registry() const;
  // The number of store operations in progress.
  std::size_t store_operations_under_way() const { return store_.operations_under_way(); }
  // The state for the component's record.
  const model::DaemonState& state() const { return state_; }
  // Why the store is not usable now, as a sentence that changes only with the cause; empty if it
  // is.
  std::string store_problem() const { return store_.cause(); }
  // The obstacles and warnings that do not depend on the service.
  telemetry::Health health() const;

 private:
  Task<> serve();
  Task<> serve_until_end();
  Task<> watch_for_end(async::Signals& signals);
  Task<> reload_on_signal(async::Signals& hang_ups);
  Task<> begin();
  Task<bool> try_to_begin();
  // Throws config::ConfigError if a provider's section is invalid.
  void check_providers(const config::Config& config) const;
  // Applies a reloaded configuration.
  Task<> apply(config::Config config);
  // Applies the store's servers and certificates while apply() may wait for the store.
  void apply_ahead(const config::Config& config);
  config::Config load();
  void reload_ended(const std::string& error);
  void loop_turned(async::Duration lag);
  // Why the daemon is not ready; `of_store` is the store's problem.
  std::vector<std::string> obstacles(std::string of_store) const;
  // What `systemctl status` shows.
  std::string status() const;
  // Reports changed keys that take effect only after a restart.
  void keep_until_restart(std::vector<std::string> keys);
  // Updates the problems in state_.
  void update_problems();
  // The files that load() reads, …
  std::vector<std::string> own_files() const;
  // … and the other files of the configuration.
  std::set<std::string> files(const config::Config& config) const;

  Options options_;
  std::shared_ptr<telemetry::Log> log_sink_;
  telemetry::Logger log_;
  std::set<std::string_view> truncated_metrics_;          // reported as such
  std::shared_ptr<telemetry::MetricsRegistry> registry_;  // nullptr: not enabled
  telemetry::Metrics metrics_;
  model::DaemonState state_;
  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_ = async::Random::from_system();
  async::Runtime runtime_;
  ServiceManager service_manager_;
  async::Duration loop_check_interval_;
  telemetry::StackDump stack_dump_;
  DaemonStore store_;
  StartReport* report_ = nullptr;
  config::Config config_;         // for start()
  config::Config begun_config_;   // start_without_store() was called with it
  bool is_config_newer_ = false;  // config_ has changed since the store began to be opened
  async::Event config_changed_{"another configuration to start with"};
  std::vector<std::string> warnings_;      // of the last load
  std::vector<std::string> not_in_force_;  // changed keys that wait for a restart
  bool has_begun_ = false;                 // start_without_store() was called, stop() not since
  std::string start_failure_;              // the last one, by the store; empty: none
  bool serves_ = false;
  async::TaskScope main_scope_;
  async::TaskScope scope_;
  async::Event over_{"a signal to end, or a failure"};
  std::exception_ptr failure_;
  ConfigFollower follower_;
};

// main() of a daemon: parses the options, goes to the background unless -f or -d is given, opens
// the log, and runs the daemon made by `make`. Returns the exit status.
int run_daemon(const Program& program, int argc, const char* const* argv,
               const std::function<std::unique_ptr<Daemon>(const Options&,
                                                           std::shared_ptr<telemetry::Log>)>& make);

}  // namespace nodepool::program
