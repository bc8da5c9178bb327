#include <exception>
#include <ostream>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "config/document.h"
#include "config/json_schema.h"
#include "config/load.h"
#include "config/outside_error.h"
#include "config/validate.h"
#include "config/yaml.h"

namespace nodepool::cli {

namespace {

void warn(const std::vector<config::Problem>& problems, const telemetry::Logger& log) {
  for (const config::Problem& problem : problems) log.warning("{}", to_string(problem));
}

config::LoadOptions load_options(const Context& context, const Arguments& arguments,
                                 bool uses_store) {
  return {.path = arguments.config,
          .secure_path = arguments.secure,
          .environment = context.environment,
          .drivers = context.drivers.schemas(),
          .uses_store = uses_store};
}

// Loads the file as the daemons do, but warns of other files that are not on this host. See
// check_servers() for those of ZooKeeper. Throws ConfigError.
config::Config load_as_a_daemon(const Context& context, const Arguments& arguments,
                                const telemetry::Logger& log) {
  config::LoadResult loaded = config::load(load_options(context, arguments, /*uses_store=*/false));
  warn(loaded.warnings, log);
  for (const config::ProviderSection& section : loaded.config.providers) {
    const auto provider = context.drivers.driver(section.driver).configure(section, loaded.config);
    warn(provider->config_warnings(), log);
    warn(provider->validation_warnings(), log);
    if (const auto& problem = provider->outside_problem()) {
      log.warning("{}: the daemons need it; `--online` checks the clouds", to_string(*problem));
    }
  }
  return std::move(loaded.config);
}

// Checks `zookeeper-tls`. It may be in the secure file, which need not be given: then this only
// warns, as of files that are not on this host. Throws ConfigError.
void check_tls(const config::Config& config, const Context& context, const Arguments& arguments,
               const telemetry::Logger& log) {
  if (config.store.kind != config::StoreChoice::Kind::zookeeper) return;
  const config::ZooKeeperTls& tls = config.zookeeper.tls;
  const std::string missing = tls.missing();
  if (missing.empty()) {
    warn(config::absent_certificates(arguments.config, arguments.secure, context.environment), log);
    return;
  }
  const config::Problem problem{
      .file = arguments.config, .path = "zookeeper-tls", .message = missing};
  const config::ZooKeeperTls no_files{.verify_hostname = tls.verify_hostname};
  if (arguments.secure || tls != no_files) throw config::ConfigError(problem);
  log.warning("{}: unless they are in the secure file (-s), the daemons refuse to start",
              to_string(problem));
}

// Checks ZooKeeper's servers. Only warns if they may be in the secure file, which was not given.
// Throws ConfigError.
void check_servers(const Context& context, const Arguments& arguments,
                   const telemetry::Logger& log) {
  try {
    config::load(load_options(context, arguments, /*uses_store=*/true));
  } catch (const config::OutsideError& error) {
    log.warning("{}: unless the secure file (-s) has servers, the daemons refuse to start",
                error.what());
  }
}

// The problems of the file, as a heading and one line for each; empty if there are none.
std::string findings(const Context& context, const Arguments& arguments,
                     const telemetry::Logger& log) {
  const std::string& path = arguments.config;
  std::string text;
  try {
    text = config::read_file(path);
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  try {
    config::parse_document(text, context.environment, path);
  } catch (const config::ConfigError& error) {
    return std::string("YAML parsing failed\n") + error.what();
  }
  const std::vector<config::Problem> problems =
      config::validate(text, path, context.environment, context.drivers.schemas());
  if (!problems.empty()) {
    std::string list = "Schema validation failed";
    for (const config::Problem& problem : problems) list.append("\n").append(to_string(problem));
    return list;
  }
  try {
    check_tls(load_as_a_daemon(context, arguments, log), context, arguments, log);
    warn(config::unserved_labels(text, path, context.environment, context.drivers.schemas()), log);
    check_servers(context, arguments, log);
  } catch (const config::ConfigError& error) {
    return std::string("Loading failed\n") + error.what();
  }
  return {};
}

}  // namespace

int perform(Context& context, const Arguments& arguments, const ValidateConfig& /*command*/,
            const std::shared_ptr<telemetry::Log>& log) {
  const telemetry::Logger logger(log, "nodepool.config_validator");
  logger.info("validating {}", arguments.config);
  const std::string found = findings(context, arguments, logger);
  if (!found.empty()) {
    logger.error("{}", found);
    return 1;
  }
  logger.info("{} is valid", arguments.config);
  return 0;
}

int perform(Context& context, const Arguments& /*arguments*/, const PrintConfigSchema& /*command*/,
            const std::shared_ptr<telemetry::Log>& /*log*/) {
  context.out << config::json_schema(context.drivers.schemas()).dump(2) << '\n';
  return 0;
}

}  // namespace nodepool::cli
