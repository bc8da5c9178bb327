#include "program/options.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

#include "telemetry/version.h"

namespace nodepool::program {

namespace {

constexpr int kUsageError = 2;

// "~/x" -> "/home/me/x"; then absolute, because a daemon changes its directory.
std::string absolute(const std::string& path) {
  std::string expanded = path;
  if (path == "~" || path.starts_with("~/")) {
    if (const char* home = std::getenv("HOME")) expanded = home + path.substr(1);
  }
  return std::filesystem::absolute(expanded).lexically_normal();
}

// The options of the program, which fill in what is given.
void declare(CLI::App& app, const Program& program, Options& options, bool& version) {
  options.pid_file = program.pid_file;
  app.add_option("-c", options.config, "path to config file")->capture_default_str();
  app.add_option("-s", options.secure, "path to secure file");
  app.add_option("-l", options.log_config, "path to log config file");
  app.add_option("-p", options.pid_file, "path to pid file")->capture_default_str();
  app.add_flag("-d", options.debug, "stay in the foreground, log debug messages to stdout");
  app.add_flag("-f", options.foreground, "stay in the foreground");
  app.add_flag_callback(
      "--no-webapp", [&options] { options.webapp = false; }, "do not start the web app");
  app.add_flag("--repl", options.repl, "accepted and ignored: there is no Python console");
  app.add_flag("--version", version, "show the version and exit");
  if (program.add_options) program.add_options(app);
}

}  // namespace

std::vector<OptionHelp> describe_options(const Program& program) {
  Options options;
  bool version = false;
  CLI::App app("Node pool.", program.name);
  declare(app, program, options, version);
  std::vector<OptionHelp> described;
  for (const CLI::Option* option : app.get_options()) {
    const bool has_value = option->get_type_size() != 0;
    described.push_back({.names = option->get_name(/*positional=*/false, /*all_options=*/true),
                         .value = has_value ? option->get_type_name() : std::string(),
                         .help = option->get_description(),
                         .usual = has_value ? option->get_default_str() : std::string()});
  }
  return described;
}

std::variant<Options, int> parse_options(const Program& program, int argc,
                                         const char* const* argv) {
  Options options;
  bool version = false;
  CLI::App app("Node pool.", program.name);
  declare(app, program, options, version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return 0;
    return kUsageError;
  }
  if (version) {
    std::cout << "Nodepool version: " << telemetry::version() << std::endl;
    return 0;
  }
  options.foreground = options.foreground || options.debug;
  options.config = absolute(options.config);
  options.pid_file = absolute(options.pid_file);
  for (auto* path : {&options.secure, &options.log_config}) {
    if (*path) *path = absolute(**path);
  }
  return options;
}

}  // namespace nodepool::program
