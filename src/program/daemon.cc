#include "program/daemon.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "config/environment.h"
#include "config/load.h"
#include "coordination/outage.h"
#include "program/log_config.h"
#include "telemetry/log_errors.h"
#include "telemetry/process_metrics.h"
#include "telemetry/process_values.h"
#include "telemetry/sanitized_text.h"
#include "telemetry/version.h"

namespace nodepool::program {

namespace {

// Before a retry of a start that failed because the store became unreachable.
constexpr auto kStartRetryInterval = std::chrono::seconds(1);

// Free memory at the top of the heap is returned to the system from this size on, in bytes.
// Otherwise the C library keeps up to 64 MB after the first large allocation: a store's responses.
constexpr int kKeptMemory = 128 * 1024;

// How long the process that starts a daemon in the background waits until it serves.
constexpr auto kStartTimeout = std::chrono::minutes(1);

// How long it waits before that for the end of the previous daemon, like the Python Nodepool.
constexpr auto kPidFilePatience = std::chrono::seconds(10);

// The interval of checks for a stalled loop. Each wakes a thread for a moment.
constexpr async::Duration kLoopCheckInterval = std::chrono::seconds(5);

// The stacks of a stalled loop are logged after at most two intervals. That has to happen before
// the watchdog kills the process; its last notification may be a third of its timeout old.
async::Duration loop_check_interval(async::Duration watchdog_timeout) {
  return watchdog_timeout > async::Duration::zero()
             ? std::min(kLoopCheckInterval, watchdog_timeout / 4)
             : kLoopCheckInterval;
}

LogConfig log_config(const Program& program, const Options& options) {
  using telemetry::LogTargetOptions;
  if (options.log_config) return load_log_config(*options.log_config);
  telemetry::LogOptions log;
  if (options.debug) log.routes["nodepool"].level = telemetry::LogLevel::debug;
  LogTargetOptions& target = log.targets.front();
  if (options.foreground) {
    target.kind = LogTargetOptions::Kind::standard_output;
  } else {
    target.kind = LogTargetOptions::Kind::file;
    target.file = "/var/log/nodepool/" + program.log_name + ".log";
  }
  return {.options = std::move(log), .warnings = {}};
}

// Throws if the host name cannot be resolved: missing metrics would go unnoticed.
telemetry::Metrics open_metrics() {
  const config::Environment environment = config::process_environment();
  const auto value = [&environment](std::string_view name) {
    const auto found =
        std::ranges::find(environment, name, &config::Environment::value_type::first);
    return found == environment.end() ? std::string() : found->second;
  };
  return telemetry::Metrics::to_statsd(value("STATSD_HOST"), value("STATSD_PORT"));
}

}  // namespace

Daemon::Daemon(const Options& options, std::shared_ptr<telemetry::Log> log,
               const std::string& logger)
    : options_(options),
      log_sink_(std::move(log)),
      log_(log_sink_, logger),
      metrics_(open_metrics()),
      runtime_{loop_.executor(), clock_, random_},
      service_manager_(runtime_),
      loop_check_interval_(loop_check_interval(service_manager_.watchdog_timeout())),
      stack_dump_(runtime_, telemetry::Logger(log_sink_, "nodepool.stack_dump"),
                  {.pause = loop_check_interval_,
                   .turned = [this](async::Duration lag) { loop_turned(lag); }}),
      store_(runtime_, log_),
      main_scope_(runtime_, telemetry::log_errors(log_)),
      scope_(runtime_, telemetry::log_errors(log_)),
      follower_(runtime_, log_,
                {.files = own_files(),
                 .load = [this] { return load(); },
                 .further_files = [this](const config::Config& config) { return files(config); },
                 .apply = [this](config::Config config) { return apply(std::move(config)); },
                 .apply_ahead = [this](const config::Config& config) { apply_ahead(config); },
                 .on_result = [this](const std::string& error) { reload_ended(error); }}) {
  state_.started = telemetry::process_start();
}

void Daemon::enable_registry() {
  registry_ = std::make_shared<telemetry::MetricsRegistry>([this](const telemetry::Metric& metric) {
    if (!truncated_metrics_.insert(metric.name).second) return;
    log_.warning("The metric {} has more than {} series: further ones are dropped", metric.name,
                 telemetry::MetricsRegistry::kMostSeries);
  });
  // With an initial 0, the first stall is an increase.
  registry_->count(telemetry::series<telemetry::kLoopStalls>(), 0);
  metrics_ = metrics_.also_to(registry_);
}

telemetry::MetricsRegistry Daemon::registry() const {
  telemetry::MetricsRegistry registry = *registry_;
  telemetry::add_process_values(registry);
  registry.gauge(telemetry::series<telemetry::kConfigurationLoaded>(), state_.configuration_loaded);
  registry.gauge(telemetry::series<telemetry::kConfigurationRejected>(),
                 state_.configuration_problem.empty() ? 0 : 1);
  registry.count(telemetry::series<telemetry::kLogMessagesDropped>(),
                 static_cast<std::int64_t>(log_sink_->losses().messages));
  return registry;
}

std::vector<std::string> Daemon::obstacles(std::string of_store) const {
  std::vector<std::string> all;
  if (!of_store.empty()) all.push_back(std::move(of_store));
  if (!start_failure_.empty() && !serves_) all.push_back(start_failure_);
  if (store_.is_open() && !serves_) all.emplace_back("still starting");
  return all;
}

std::string Daemon::status() const {
  const std::vector<std::string> all = obstacles(store_problem());
  return all.empty() ? "Serving" : fmt::format("{}", fmt::join(all, "; "));
}

telemetry::Health Daemon::health() const {
  telemetry::Health health{.obstacles = obstacles(store_.problem()), .warnings = {}};
  if (!state_.configuration_problem.empty()) {
    health.warnings.push_back(model::rejection_text(state_.configuration_problem));
  }
  std::ranges::copy(state_.problems, std::back_inserter(health.warnings));
  return health;
}

void Daemon::reload_ended(const std::string& error) {
  if (error.empty()) state_.configuration_loaded = clock_.wall_seconds();
  state_.configuration_problem = error;
  state_has_changed();
}

void Daemon::update_problems() {
  log_sink_->retry();  // the next message may be hours away
  const std::string trouble = log_sink_->losses().trouble;
  std::vector<std::string> problems;
  if (!trouble.empty()) problems.push_back("the log cannot be written: " + trouble);
  if (!not_in_force_.empty()) {
    problems.push_back(
        fmt::format("changed keys that wait for a restart: {}", fmt::join(not_in_force_, ", ")));
  }
  std::ranges::move(early_problems(), std::back_inserter(problems));
  std::ranges::move(store_.warnings(), std::back_inserter(problems));
  if (problems == state_.problems) return;
  state_.problems = std::move(problems);
  state_has_changed();
}

void Daemon::loop_turned(async::Duration lag) {
  update_problems();
  service_manager_.set_status(status());
  metrics_.time(telemetry::series<telemetry::kLoopLag>(), lag);
  if (lag < loop_check_interval_) return;
  metrics_.count(telemetry::series<telemetry::kLoopStalls>());
  log_.warning("The event loop has been blocked for {:.1f} s",
               std::chrono::duration<double>(lag).count());
}

std::vector<std::string> Daemon::fixed_keys_changed(const config::Config& /*begun*/,
                                                    const config::Config& /*now*/) const {
  return {};
}

std::vector<std::string> Daemon::early_problems() const {
  return {};
}

Task<> Daemon::start_without_store(const config::Config& /*config*/) {
  co_return;
}

void Daemon::run(StartReport& report) {
  report_ = &report;
  main_scope_.spawn("main", serve());
  try {
    loop_.run(main_scope_.join());
  } catch (...) {
    failure_ = std::current_exception();
  }
  // Suspended tasks refer to members of the subclass, which is destroyed before the loop.
  loop_.abandon();
  if (failure_) std::rethrow_exception(failure_);
}

Task<> Daemon::serve() {
  try {
    co_await serve_until_end();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

Task<> Daemon::serve_until_end() {
  // First, so that no signal is missed.
  async::Signals signals(runtime_.executor, {SIGINT, SIGTERM, SIGUSR1});
  async::Signals hang_ups(runtime_.executor, {SIGHUP});
  config_ = follower_.load();
  state_.configuration_loaded = clock_.wall_seconds();
  store_.measure_with(metrics_);
  if (config_.store.is_default) {
    log_.info("Neither `store` nor `zookeeper-servers` is set: using the embedded store {}",
              config_.store.sqlite_path);
  }
  scope_.spawn("signals", watch_for_end(signals));
  scope_.spawn("reloading on SIGHUP", reload_on_signal(hang_ups));
  scope_.spawn("configuration", follower_.run());
  scope_.spawn("serving", begin());
  scope_.spawn("watchdog of the service manager", service_manager_.feed_watchdog());
  co_await over_.wait();
  service_manager_.stopping();
  co_await scope_.stop();
  if (has_begun_) co_await stop();
  if (store_.is_open()) co_await store_.close();
}

Task<> Daemon::watch_for_end(async::Signals& signals) {
  co_await wait_for_end(signals);
  over_.set();
}

Task<> Daemon::wait_for_end(async::Signals& signals) {
  co_await next_signal(signals);
}

Task<int> Daemon::next_signal(async::Signals& signals) {
  const int signal = co_await signals.next();
  log_.info("Received signal {} ({})", signal, ::sigabbrev_np(signal));
  co_return signal;
}

Task<> Daemon::reload_on_signal(async::Signals& hang_ups) {
  while (true) {
    co_await next_signal(hang_ups);
    follower_.reload();
  }
}

Task<> Daemon::begin() {
  try {
    while (!co_await try_to_begin()) co_await clock_.sleep_for(kStartRetryInterval);
  } catch (const async::Cancelled&) {
    throw;
  } catch (...) {
    failure_ = std::current_exception();
    over_.set();
  }
}

// Starts the service; returns whether it serves. If the store fails meanwhile, but may recover,
// undoes the start, for a retry with a new session: so no registration is left.
Task<bool> Daemon::try_to_begin() {
  const std::function<void(const std::string&)> on_waiting = [this](const std::string& what) {
    report_->waiting(what);
    service_manager_.started(what);
  };
  has_begun_ = true;
  begun_config_ = config_;
  not_in_force_.clear();
  co_await start_without_store(config_);
  // Before, as the store may be opened with an earlier config_.
  is_config_newer_ = false;
  co_await store_.open(config_, config_changed_, on_waiting);
  update_problems();
  std::string failure;
  try {
    co_await start(config_);
  } catch (const coordination::StoreError& error) {
    if (!coordination::is_openable_later(error)) throw;
    failure = std::string("the store failed during the start: ") + error.what();
  }
  if (!failure.empty()) {
    if (failure != start_failure_) log_.warning("Retrying: {}", failure);
    start_failure_ = failure;
    on_waiting(failure);
    co_await stop();
    has_begun_ = false;
    co_await store_.close();
    co_return false;
  }
  serves_ = true;
  if (is_config_newer_) follower_.reload();
  report_->serving();
  service_manager_.started(status());
  co_return true;
}

void Daemon::check_providers(const config::Config& config) const {
  for (const config::ProviderSection& section : config.providers) {
    drivers().driver(section.driver).configure(section, config);
  }
}

Task<> Daemon::apply(config::Config config) {
  // First, so that a rejected configuration changes nothing: neither the store nor a start.
  check_providers(config);
  std::vector<std::string> fixed;
  if (has_begun_) fixed = fixed_keys_changed(begun_config_, config);
  // Also during the start, which may wait for the store.
  if (store_.is_open()) std::ranges::copy(store_.reconfigure(config), std::back_inserter(fixed));
  if (serves_) {
    co_await reconfigure(std::move(config));
    keep_until_restart(std::move(fixed));
    co_return;
  }
  config_ = std::move(config);
  is_config_newer_ = true;
  config_changed_.set();
  log_.info("Configuration reloaded before the start");
  keep_until_restart(std::move(fixed));
}

void Daemon::apply_ahead(const config::Config& config) {
  check_providers(config);
  if (store_.is_open()) store_.reconfigure(config);
}

void Daemon::keep_until_restart(std::vector<std::string> keys) {
  if (!keys.empty() && keys != not_in_force_) {
    log_.warning("Changed keys that wait for a restart: {}", fmt::join(keys, ", "));
  }
  not_in_force_ = std::move(keys);
  update_problems();
}

std::vector<std::string> Daemon::own_files() const {
  std::vector<std::string> files{options_.config};
  if (options_.secure) files.push_back(*options_.secure);
  return files;
}

config::Config Daemon::load() {
  config::LoadOptions load;
  load.path = options_.config;
  load.secure_path = options_.secure;
  load.environment = config::process_environment();
  load.drivers = drivers().schemas();
  config::LoadResult result = config::load(load);
  std::vector<std::string> warnings;
  for (const config::Problem& warning : result.warnings) {
    warnings.push_back(config::to_string(warning));
    // Log a warning once, although the load is retried.
    if (std::ranges::find(warnings_, warnings.back()) == warnings_.end())
      log_.warning("{}", warnings.back());
  }
  warnings_ = std::move(warnings);
  return std::move(result.config);
}

std::set<std::string> Daemon::files(const config::Config& config) const {
  std::set<std::string> files = drivers().files(config);
  if (config.store.kind == config::StoreChoice::Kind::zookeeper) {
    const config::ZooKeeperTls& tls = config.zookeeper.tls;
    for (const std::string& file : {tls.ca, tls.cert, tls.key}) {
      if (!file.empty()) files.insert(file);
    }
  }
  return files;
}

namespace {

using Maker =
    std::function<std::unique_ptr<Daemon>(const Options&, std::shared_ptr<telemetry::Log>)>;

// Throws errors that occur before there is a log.
int serve(const Program& program, const Options& options, const Maker& make, StartReport& report,
          std::optional<PidFile>& pid_file) {
  if (pid_file) pid_file->write();
  const LogConfig config = log_config(program, options);
  const auto log = std::make_shared<telemetry::Log>(config.options);
  const telemetry::Logger logger(log, "nodepool.NodePool");
  logger.info("{} {}", program.name, telemetry::version());
  for (const std::string& warning : config.warnings) logger.warning("{}", warning);
  if (pid_file && !pid_file->problem().empty()) logger.warning("{}", pid_file->problem());
  if (options.repl) logger.warning("--repl is ignored: there is no Python console");
  try {
    make(options, log)->run(report);
  } catch (const std::exception& error) {
    logger.error("{}", error.what());
    pid_file.reset();  // before the report, as below
    report.failed(error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

int run(const Program& program, const Options& options, const Maker& make) {
  StartReport report;
  std::optional<PidFile> pid_file;
  if (!options.foreground) {
    close_descriptors_of_caller();
    const auto print = [&program](const std::string& reason) {
      std::cerr << program.name << ": " << telemetry::sanitized_text(reason)
                << "; waiting for its end" << std::endl;
    };
    pid_file.emplace(options.pid_file, kPidFilePatience, print);
    report = detach(program.name, kStartTimeout);
  }
  try {
    return serve(program, options, make, report, pid_file);
  } catch (const std::exception& error) {
    pid_file.reset();  // before the process that waits for the report exits
    report.failed(error.what());
    throw;
  }
}

}  // namespace

int run_daemon(const Program& program, int argc, const char* const* argv, const Maker& make) {
  try {
    // A write beyond the file size limit, or to a pipe without a reader, then fails, like on a full
    // disk, and is reported.
    ::signal(SIGXFSZ, SIG_IGN);
    ::signal(SIGPIPE, SIG_IGN);
    ::mallopt(M_TRIM_THRESHOLD, kKeptMemory);
    const auto parsed = parse_options(program, argc, argv);
    if (const int* status = std::get_if<int>(&parsed)) return *status;
    return run(program, std::get<Options>(parsed), make);
  } catch (const std::exception& error) {
    std::cerr << program.name << ": " << telemetry::sanitized_text(error.what()) << std::endl;
    return EXIT_FAILURE;
  }
}

}  // namespace nodepool::program
