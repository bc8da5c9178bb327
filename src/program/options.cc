#include "program/options.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

#include "telemetry/version.h"

namespace nodepool::program {

namespace {

constexpr int kUsageError = 2;

// Expands "~/x" and makes the path absolute, because a daemon changes its directory.
std::string absolute(const std::string& path) {
  std::string expanded = path;
  if (path == "~" || path.starts_with("~/")) {
    if (const char* home = std::getenv("HOME")) expanded = home + path.substr(1);
  }
  return std::filesystem::absolute(expanded).lexically_normal();
}

// Declares the options of the program, which are written into `options` and `version`.
void declare(CLI::App& app, const Program& program, Options& options, bool& version) {
  options.pid_file = program.pid_file;
  app.add_option("-c", options.config, "Main configuration file")->capture_default_str();
  app.add_option("-s", options.secure, "File with secrets");
  app.add_option("-l", options.log_config, "Logging configuration file");
  app.add_option("-p", options.pid_file, "PID file")->capture_default_str();
  app.add_flag("-d", options.debug, "Stay in the foreground, log debug messages to stdout");
  app.add_flag("-f", options.foreground, "Stay in the foreground");
  app.add_flag_callback(
      "--no-webapp", [&options] { options.webapp = false; }, "Do not start the web app");
  app.add_flag("--repl", options.repl, "Accepted and ignored: there is no Python console");
  app.add_flag("--version", version, "Print the version and exit");
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
