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

// A daemon between its start and its end: reads the configuration and follows its changes, opens
// the store, waits for signals. A subclass says what it serves.
class Daemon {
 public:
  // `logger` is the name under which it speaks.
  Daemon(const Options& options, std::shared_ptr<telemetry::Log> log, const std::string& logger);
  virtual ~Daemon() = default;
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Serves until it is told to end. Throws what went wrong.
  void run(StartReport& report);

 protected:
  // What providers may be configured. Lasts as long as the daemon.
  virtual const driver::DriverRegistry& drivers() const = 0;

  // Begins what is there also while the store is away; start() follows when it is open. By default
  // nothing.
  virtual Task<> start_without_store(const config::Config& config);
  // Begins to serve; the store is open. Throws: the daemon ends with that, unless the store has
  // gone away. Then stop() follows, and another start() with another store().
  virtual Task<> start(config::Config config) = 0;
  // Goes over to another configuration. Throws: the one before stays in force.
  virtual Task<> reconfigure(config::Config config) = 0;
  // The keys whose changes count only for a daemon that is started anew, and that differ between
  // the configuration that this one was started with and the one to be in force. By default none.
  virtual std::vector<std::string> fixed_keys_changed(const config::Config& begun,
                                                      const config::Config& now) const;
  // Ends all; also after a start that has failed, or that has not come to start().
  virtual Task<> stop() = 0;
  // What state() says is another than before. By default nobody wants to know.
  virtual void state_has_changed() {}
  // Returns when it is time to end: by default at the first signal of SIGINT, SIGTERM and SIGUSR1.
  virtual Task<> wait_for_end(async::Signals& signals);

  // Waits for a signal, and logs it.
  Task<int> next_signal(async::Signals& signals);

  const async::Runtime& runtime() const { return runtime_; }
  coordination::Store& store() { return store_.store(); }
  const std::shared_ptr<telemetry::Log>& log_sink() const { return log_sink_; }
  const telemetry::Logger& log() const { return log_; }
  const telemetry::Metrics& metrics() const { return metrics_; }
  // Keeps figures for whoever asks, from now on: to be called before it runs.
  void enable_registry();
  // Those, with the process' own. Only after enable_registry().
  telemetry::MetricsRegistry registry() const;
  // How many operations of the store have been asked for and not been answered.
  std::size_t store_operations_under_way() const { return store_.operations_under_way(); }
  // What it knows of itself.
  const model::DaemonState& state() const { return state_; }
  // What keeps it from serving, whatever it serves.
  telemetry::Health health() const;
  async::TaskScope::ErrorHandler reporter() const;

 private:
  Task<> serve();
  Task<> serve_until_end();
  Task<> watch_for_end(async::Signals& signals);
  Task<> reload_when_asked(async::Signals& hang_ups);
  Task<> begin();
  Task<bool> try_to_begin();
  // Goes over to a configuration that has been loaded anew.
  Task<> apply(config::Config config);
  config::Config load();
  void reload_ended(const std::string& failure);
  void loop_turned(async::Duration lag);
  // Notes what is not as it should be, if that has changed.
  void update_problems();
  // The files that load() reads, …
  std::vector<std::string> own_files() const;
  // … and others that the configuration rests on.
  std::set<std::string> files(const config::Config& config) const;

  Options options_;
  std::shared_ptr<telemetry::Log> log_sink_;
  telemetry::Logger log_;
  std::shared_ptr<telemetry::MetricsRegistry> registry_;  // nullptr: nobody asks
  telemetry::Metrics metrics_;
  model::DaemonState state_;
  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_ = async::Random::from_system();
  async::Runtime runtime_;
  ServiceManager service_manager_;
  async::Duration loop_pause_;  // between two looks whether the loop turns
  telemetry::StackDump stack_dump_;
  DaemonStore store_;
  StartReport* report_ = nullptr;
  config::Config config_;         // to start with
  bool is_config_newer_ = false;  // than what the start began with
  async::Event config_changed_{"another configuration to start with"};
  std::vector<std::string> warnings_;      // of the latest load
  std::vector<std::string> not_in_force_;  // keys that wait for another start
  bool has_begun_ = false;  // start_without_store() has been called, and stop() has not since
  bool serves_ = false;
  async::TaskScope main_scope_;
  async::TaskScope scope_;
  async::Event over_{"a signal to end, or a failure"};
  std::exception_ptr failure_;
  ConfigFollower follower_;
};

// main() of a daemon: reads the options, goes to the background unless told otherwise, opens the
// log, and runs what `make` makes. Returns the exit status.
int run_daemon(const Program& program, int argc, const char* const* argv,
               const std::function<std::unique_ptr<Daemon>(const Options&,
                                                           std::shared_ptr<telemetry::Log>)>& make);

}  // namespace nodepool::program
