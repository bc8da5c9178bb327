#include "program/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

#include "config/environment.h"
#include "telemetry/version.h"

namespace nodepool::program {

namespace {

constexpr int kUsageError = 2;

// Expands "~/x" and makes the path absolute, because a daemon changes its directory.
std::string absolute(const std::string& path) {
  const std::string expanded = config::expand_home(path, config::process_environment());
  return std::filesystem::absolute(expanded).lexically_normal();
}

// Declares the options of the program, which are written into `options` and `version`.
void declare(CLI::App& app, const Program& program, Options& options, bool& version) {
  options.pid_file = program.pid_file;
  app.option_defaults()->take_last();
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

// The word with the full name of the long option that it abbreviates. Throws CLI::ParseError if it
// may be several; leaves others as they are.
std::string complete(const std::string& word, const std::vector<std::string>& names) {
  const std::size_t end = std::min(word.find('='), word.size());
  const std::string given = word.substr(0, end);
  const std::vector<std::string> meant = names_meant_by(given, names);
  if (meant.size() > 1) {
    throw CLI::ArgumentMismatch(
        fmt::format("option {} is ambiguous: {}", given, fmt::join(meant, " or ")));
  }
  return meant.empty() ? word : meant.front() + word.substr(end);
}

void parse(CLI::App& app, std::vector<std::string> words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with("--")) word = complete(word, names);
  }
  std::ranges::reverse(words);  // the order that the library expects
  app.parse(std::move(words));
}

}  // namespace

std::vector<std::string> names_meant_by(std::string_view given,
                                        const std::vector<std::string>& names) {
  std::vector<std::string> meant;
  for (const std::string& name : names) {
    if (name == given) return {name};
    if (name.starts_with(given)) meant.push_back(name);
  }
  return meant;
}

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
    parse(app, {argv + 1, argv + argc});
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
