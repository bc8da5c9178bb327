// nodepool-launcher: arguments and wiring.

#include <netdb.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/file_watch.h"
#include "async/signals.h"
#include "async/task_scope.h"
#include "config/environment.h"
#include "config/load.h"
#include "drivers/registry.h"
#include "launcher/launcher.h"
#include "program/background.h"
#include "program/journal.h"
#include "program/log_config.h"
#include "program/open_store.h"
#include "program/options.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "telemetry/stack_dump.h"
#include "telemetry/version.h"

namespace {

using namespace nodepool;
using async::Task;

const program::Program kProgram{"nodepool-launcher", "nodepool", "/var/run/nodepool/nodepool.pid"};

// Editors and deployment tools write a file in several steps: what follows within this time belongs
// to the same change.
constexpr auto kSettlingTime = std::chrono::milliseconds(100);

std::shared_ptr<telemetry::Log> open_log(const program::Options& options) {
  using telemetry::LogLevel;
  if (options.log_config) {
    return std::make_shared<telemetry::Log>(program::load_log_config(*options.log_config));
  }
  telemetry::LogOptions log;
  log.levels = {{"", LogLevel::info}};
  if (options.debug) log.levels["nodepool"] = LogLevel::debug;
  if (options.foreground) {
    log.target = telemetry::LogOptions::Target::standard_output;
  } else {
    log.target = telemetry::LogOptions::Target::file;
    log.file = "/var/log/nodepool/" + kProgram.log_name + ".log";
  }
  return std::make_shared<telemetry::Log>(log);
}

// A name that cannot be looked up ends the launcher: figures that nobody gets go unnoticed.
telemetry::Metrics open_metrics() {
  const config::Environment environment = config::process_environment();
  const auto value = [&environment](std::string_view name) {
    const auto found =
        std::ranges::find(environment, name, &config::Environment::value_type::first);
    return found == environment.end() ? std::string() : found->second;
  };
  return telemetry::Metrics::to_statsd(value("STATSD_HOST"), value("STATSD_PORT"));
}

launcher::Launcher::Options host_names() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  launcher::Launcher::Options options{name.data(), name.data()};
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.data(), nullptr, &hints, &found) == 0) {
    if (found->ai_canonname != nullptr) options.fqdn = found->ai_canonname;
    ::freeaddrinfo(found);
  }
  return options;
}

// The daemon between start and stop.
class LauncherDaemon {
 public:
  LauncherDaemon(const program::Options& options, const std::shared_ptr<telemetry::Log>& log)
      : options_(options),
        log_(log, "nodepool.NodePool"),
        runtime_{loop_.executor(), clock_, random_},
        drivers_(drivers::all_drivers()),
        log_sink_(log),
        stack_dump_(runtime_, telemetry::Logger(log, "nodepool.stack_dump")),
        main_scope_(runtime_, reporter()),
        scope_(runtime_, reporter()) {}

  void run() {
    main_scope_.spawn("main", serve());
    loop_.run(main_scope_.join());
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  async::TaskScope::ErrorHandler reporter() {
    return [this](const std::string& name, const std::string& error) {
      log_.error("{}: {}", name, error);
    };
  }

  Task<> serve() {
    try {
      co_await serve_until_signal();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  Task<> serve_until_signal() {
    // Before anything is read, so that no signal and no change is missed.
    async::Signals signals(runtime_.executor, {SIGINT, SIGTERM, SIGUSR1});
    async::FileWatch watch(runtime_.executor, watched_files());
    config::Config config = load();
    explain_choice(config.store);
    scope_.spawn("signals", wait_for_signal(signals));
    scope_.spawn("launcher", run_launcher(std::move(config), watch));
    co_await over_.wait();
    co_await scope_.stop();
    if (launcher_) co_await launcher_->stop();
    if (store_) co_await close_store();
  }

  Task<> wait_for_signal(async::Signals& signals) {
    const int signal = co_await signals.next();
    log_.info("Received signal {} ({})", signal, ::sigabbrev_np(signal));
    over_.set();
  }

  Task<> run_launcher(config::Config config, async::FileWatch& watch) {
    try {
      store_ = co_await program::open_store_in_time(runtime_, config.store, config.zookeeper, log_);
      launcher::Launcher::Options options = host_names();
      options.history = program::journal_of(config);
      options.metrics = metrics_;
      launcher_.emplace(runtime_, *store_, log_sink_, drivers_, options);
      co_await launcher_->start(std::move(config));
      co_await reload_on_change(watch, *launcher_);
    } catch (const async::Cancelled&) {
      throw;
    } catch (...) {
      failure_ = std::current_exception();
      over_.set();
    }
  }

  Task<> close_store() {
    try {
      co_await store_->close();
    } catch (const coordination::StoreError& error) {
      // All has been done that could be; locks end with the session.
      log_.warning("The store could not be told of the end: {}", error.what());
    }
  }

  std::vector<std::string> watched_files() const {
    std::vector<std::string> files{options_.config};
    if (options_.secure) files.push_back(*options_.secure);
    return files;
  }

  config::Config load() {
    config::LoadOptions load;
    load.path = options_.config;
    load.secure_path = options_.secure;
    load.environment = config::process_environment();
    load.drivers = drivers_.schemas();
    config::LoadResult result = config::load(load);
    stamp_ = result.stamp;
    secure_stamp_ = result.secure_stamp;
    for (const config::Problem& warning : result.warnings) {
      log_.warning("{}", config::to_string(warning));
    }
    return std::move(result.config);
  }

  bool files_changed() const {
    return config::stamp(options_.config) != stamp_ ||
           (options_.secure && config::stamp(*options_.secure) != secure_stamp_);
  }

  void explain_choice(const config::StoreChoice& choice) const {
    if (!choice.is_default) return;
    log_.info("Neither store nor zookeeper-servers is set: using the embedded store {}",
              choice.sqlite_path);
  }

  Task<> reload_on_change(async::FileWatch& watch, launcher::Launcher& launcher) {
    while (true) {
      co_await watch.changed();
      co_await clock_.sleep_for(kSettlingTime);
      if (!files_changed()) continue;
      std::string failure;
      try {
        co_await launcher.reconfigure(load());
      } catch (const async::Cancelled&) {
        throw;
      } catch (const std::exception& error) {
        failure = error.what();
      }
      if (failure.empty()) continue;
      log_.error("The configuration was not reloaded, the old one stays in force: {}", failure);
      stamp_ = config::stamp(options_.config);
      if (options_.secure) secure_stamp_ = config::stamp(*options_.secure);
    }
  }

  program::Options options_;
  telemetry::Logger log_;
  telemetry::Metrics metrics_ = open_metrics();
  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_ = async::Random::from_system();
  async::Runtime runtime_;
  driver::DriverRegistry drivers_;
  std::shared_ptr<telemetry::Log> log_sink_;
  telemetry::StackDump stack_dump_;
  std::unique_ptr<coordination::Store> store_;
  std::optional<launcher::Launcher> launcher_;
  async::TaskScope main_scope_;
  async::TaskScope scope_;
  async::Event over_{"a signal to end, or a failure"};
  std::exception_ptr failure_;
  config::FileStamp stamp_;
  config::FileStamp secure_stamp_;
};

int run(const program::Options& options) {
  std::optional<program::PidFile> pid_file;
  if (!options.foreground) {
    program::PidFile::require_free(options.pid_file);
    program::detach();
    pid_file.emplace(options.pid_file);
  }
  const auto log = open_log(options);
  const telemetry::Logger logger(log, "nodepool.NodePool");
  logger.info("nodepool-launcher {}", telemetry::version());
  if (options.repl) logger.warning("--repl is ignored: there is no Python console");
  try {
    LauncherDaemon(options, log).run();
  } catch (const std::exception& error) {
    logger.error("{}", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto parsed = program::parse_options(kProgram, argc, argv);
    if (const int* status = std::get_if<int>(&parsed)) return *status;
    return run(std::get<program::Options>(parsed));
  } catch (const std::exception& error) {
    std::cerr << kProgram.name << ": " << error.what() << std::endl;
    return EXIT_FAILURE;
  }
}
