#include "program/daemon.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "config/environment.h"
#include "config/load.h"
#include "coordination/error.h"
#include "program/background.h"
#include "program/log_config.h"
#include "program/open_store.h"
#include "telemetry/harmless_text.h"
#include "telemetry/version.h"

namespace nodepool::program {

namespace {

std::shared_ptr<telemetry::Log> open_log(const Program& program, const Options& options) {
  using telemetry::LogLevel;
  if (options.log_config) {
    return std::make_shared<telemetry::Log>(load_log_config(*options.log_config));
  }
  telemetry::LogOptions log;
  log.levels = {{"", LogLevel::info}};
  if (options.debug) log.levels["nodepool"] = LogLevel::debug;
  if (options.foreground) {
    log.target = telemetry::LogOptions::Target::standard_output;
  } else {
    log.target = telemetry::LogOptions::Target::file;
    log.file = "/var/log/nodepool/" + program.log_name + ".log";
  }
  return std::make_shared<telemetry::Log>(log);
}

// A name that cannot be looked up ends the daemon: figures that nobody gets go unnoticed.
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
      stack_dump_(runtime_, telemetry::Logger(log_sink_, "nodepool.stack_dump")),
      main_scope_(runtime_, reporter()),
      scope_(runtime_, reporter()),
      follower_(
          runtime_, log_,
          {.files = own_files(),
           .load = [this] { return load(); },
           .further_files = [this](const config::Config& config) { return files(config); },
           .apply = [this](config::Config config) { return reconfigure(std::move(config)); }}) {}

void Daemon::run() {
  main_scope_.spawn("main", serve());
  loop_.run(main_scope_.join());
  if (failure_) std::rethrow_exception(failure_);
}

async::TaskScope::ErrorHandler Daemon::reporter() const {
  return [this](const std::string& name, const std::string& error) {
    log_.error("{}: {}", name, error);
  };
}

Task<> Daemon::serve() {
  try {
    co_await serve_until_end();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

Task<> Daemon::serve_until_end() {
  // Before anything is read, so that none is missed.
  async::Signals signals(runtime_.executor, {SIGINT, SIGTERM, SIGUSR1});
  async::Signals hang_ups(runtime_.executor, {SIGHUP});
  config::Config config = follower_.load();
  if (config.store.is_default) {
    log_.info("Neither store nor zookeeper-servers is set: using the embedded store {}",
              config.store.sqlite_path);
  }
  scope_.spawn("signals", watch_for_end(signals));
  scope_.spawn("wishes to reload", reload_when_asked(hang_ups));
  scope_.spawn("serving", serve_with(std::move(config)));
  co_await over_.wait();
  co_await scope_.stop();
  co_await stop();
  if (store_) co_await close_store();
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

Task<> Daemon::reload_when_asked(async::Signals& hang_ups) {
  while (true) {
    co_await next_signal(hang_ups);
    follower_.reload();
  }
}

Task<> Daemon::serve_with(config::Config config) {
  try {
    store_ = co_await open_store_in_time(runtime_, config.store, config.zookeeper, log_);
    co_await start(std::move(config));
    co_await follower_.run();
  } catch (const async::Cancelled&) {
    throw;
  } catch (...) {
    failure_ = std::current_exception();
    over_.set();
  }
}

Task<> Daemon::close_store() {
  try {
    co_await store_->close();
  } catch (const coordination::StoreError& error) {
    // All has been done that could be; locks end with the session.
    log_.warning("The store could not be told of the end: {}", error.what());
  }
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
  for (const config::Problem& warning : result.warnings) {
    log_.warning("{}", config::to_string(warning));
  }
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

int run(const Program& program, const Options& options, const Maker& make) {
  std::optional<PidFile> pid_file;
  if (!options.foreground) {
    PidFile::require_free(options.pid_file);
    detach();
    pid_file.emplace(options.pid_file);
  }
  const auto log = open_log(program, options);
  const telemetry::Logger logger(log, "nodepool.NodePool");
  logger.info("{} {}", program.name, telemetry::version());
  if (options.repl) logger.warning("--repl is ignored: there is no Python console");
  try {
    make(options, log)->run();
  } catch (const std::exception& error) {
    logger.error("{}", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int run_daemon(const Program& program, int argc, const char* const* argv, const Maker& make) {
  try {
    // A write beyond a limit of file sizes fails, like one on a full disk, and is reported.
    ::signal(SIGXFSZ, SIG_IGN);
    const auto parsed = parse_options(program, argc, argv);
    if (const int* status = std::get_if<int>(&parsed)) return *status;
    return run(program, std::get<Options>(parsed), make);
  } catch (const std::exception& error) {
    std::cerr << program.name << ": " << telemetry::harmless_text(error.what()) << std::endl;
    return EXIT_FAILURE;
  }
}

}  // namespace nodepool::program
