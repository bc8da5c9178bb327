#include <grp.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/remote_address.h"
#include "cli/sanitized_output.h"
#include "cli/store_installation.h"
#include "cli/waiting.h"
#include "config/load.h"
#include "program/log_config.h"
#include "requestor/error.h"
#include "telemetry/version.h"

namespace nodepool::cli {

namespace {

telemetry::LogOptions log_options(const Arguments& arguments) {
  if (!arguments.debug && arguments.log_config)
    return program::load_log_config(*arguments.log_config).options;
  telemetry::LogOptions options;
  if (arguments.debug) options.routes[""].level = telemetry::LogLevel::debug;
  return options;
}

// A command has time for its reader, such as a pager, and makes no entries in the audit log.
std::shared_ptr<telemetry::Log> open_log(telemetry::LogOptions options) {
  options.routes.erase("nodepool.audit");
  for (auto& target : options.targets) target.patience = std::chrono::milliseconds(-1);
  return std::make_shared<telemetry::Log>(options);
}

// Users may perform commands although they may not write the daemons' log.
std::shared_ptr<telemetry::Log> open_log(Context& context, const Arguments& arguments) {
  const telemetry::LogOptions options = log_options(arguments);
  try {
    return open_log(options);
  } catch (const std::runtime_error& error) {
    context.err << "nodepool: " << error.what() << "; messages go to standard error\n";
    return open_log(telemetry::LogOptions());
  }
}

// What helps a user whose command cannot use this configuration file.
std::string advice_about(const std::string& file) {
  if (::eaccess(file.c_str(), R_OK) == 0 || errno != EACCES) {
    return "a running launcher keeps its previous configuration; `--url` or NODEPOOL_URL asks it";
  }
  struct stat status{};
  const bool has_group = ::stat(file.c_str(), &status) == 0 && (status.st_mode & S_IRGRP) != 0;
  const group* readers = has_group ? ::getgrgid(status.st_gid) : nullptr;
  const std::string members =
      readers == nullptr ? "" : std::string(" and members of the group ") + readers->gr_name;
  return "root" + members + " may read it; other users set NODEPOOL_URL to a launcher's address";
}

config::Config load_config(const Context& context, const Arguments& arguments,
                           const telemetry::Logger& log) {
  config::LoadOptions options{arguments.config, arguments.secure, context.environment,
                              context.drivers.schemas()};
  try {
    config::LoadResult loaded = config::load(options);
    for (const config::Problem& problem : loaded.warnings) log.debug("{}", to_string(problem));
    return std::move(loaded.config);
  } catch (const config::ConfigError& error) {
    throw std::runtime_error(std::string(error.what()) + "; " + advice_about(error.problem().file));
  }
}

// What a command needs, as its perform() states.
template <typename Kind>
concept NeedsInstallation = requires(Context& context, Installation& installation, Kind command) {
  perform(context, installation, std::move(command));
};
template <typename Kind>
concept NeedsStore =
    requires(Session& session, Kind command) { perform(session, std::move(command)); };

// Closes the installation after the command. A failure to do this does not change the command's
// result.
Task<int> finish(Context& context, Installation& installation, Task<int> performing) {
  int status = 0;
  std::exception_ptr failure;
  try {
    status = co_await std::move(performing);
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    co_await installation.close();
  } catch (const coordination::StoreError& error) {
    // The command's own error is more useful.
    if (!failure) {
      context.err << "nodepool: the session could not be closed, and will time out: "
                  << error.what() << '\n';
    }
  }
  if (failure) std::rethrow_exception(failure);
  co_return status;
}

Task<int> perform_opened(Session& session, NeedsStore auto command) {
  co_await session.open();
  Task<int> performing = perform(session, std::move(command));
  co_return co_await std::move(performing);
}

template <typename Kind>
int perform_by_store(Context& context, const Arguments& arguments, const Kind& command,
                     const std::shared_ptr<telemetry::Log>& log) {
  config::Config config = load_config(context, arguments, {log, "nodepool.config"});
  Session session(context, std::move(config), arguments.store_use, log);
  StoreInstallation installation(session);
  Task<int> performing = [&] {
    if constexpr (NeedsStore<Kind>) {
      return perform_opened(session, command);
    } else {
      return perform(context, installation, command);
    }
  }();
  return context.loop.run(finish(context, installation, std::move(performing)));
}

int perform_remotely(Context& context, const remote::ApiAddress& address,
                     const NeedsInstallation auto& command,
                     const std::shared_ptr<telemetry::Log>& log) {
  const auto warn = [&context](const std::string& text) {
    context.err << "nodepool: " << text << '\n' << std::flush;
  };
  remote::RemoteInstallation installation(context.runtime, address, {log, "nodepool.api"}, warn);
  Task<int> performing = perform(context, installation, command);
  return context.loop.run(finish(context, installation, std::move(performing)));
}

template <typename Kind>
int perform_kind(Context& context, const Arguments& arguments, const Kind& command,
                 const std::shared_ptr<telemetry::Log>& log) {
  if constexpr (NeedsInstallation<Kind>) {
    const auto address = remote_address(context, arguments);
    return address ? perform_remotely(context, *address, command, log)
                   : perform_by_store(context, arguments, command, log);
  } else if constexpr (NeedsStore<Kind>) {
    if (remote_address(context, arguments)) {
      throw std::runtime_error("this command needs the store and does not work with --url");
    }
    return perform_by_store(context, arguments, command, log);
  } else {
    return perform(context, arguments, command, log);
  }
}

int perform_any(Context& context, const Arguments& arguments) {
  const auto log = open_log(context, arguments);
  const int status = std::visit(
      [&](const auto& command) { return perform_kind(context, arguments, command, log); },
      arguments.command);
  const auto* validation = std::get_if<ValidateConfig>(&arguments.command);
  if (status != 0 || validation == nullptr || !validation->online) return status;
  return perform_by_store(context, arguments, CheckClouds{}, log);
}

// The same as ssh's own, to distinguish it from the status of the command.
constexpr int kSshFailed = 255;

// The exit status if the command has thrown an exception.
int failure_status(const Arguments& arguments, const std::exception& error) {
  const bool is_refused = dynamic_cast<const requestor::Refused*>(&error) != nullptr;
  if (is_refused && std::holds_alternative<RequestNodes>(arguments.command)) return kRefused;
  if (std::holds_alternative<RunCommand>(arguments.command)) return kNotRun;
  if (std::holds_alternative<ShowStatus>(arguments.command)) return kCritical;
  return std::holds_alternative<UseShell>(arguments.command) ? kSshFailed : 1;
}

// Performs the command in the arguments; returns the exit status.
int perform_arguments(Context& context) {
  auto parsed = parse_arguments(context.arguments, telemetry::version(), context.out, context.err);
  if (const auto* exit = std::get_if<Exit>(&parsed)) return exit->status;
  const auto& arguments = std::get<Arguments>(parsed);
  try {
    return perform_any(context, arguments);
  } catch (const std::exception& error) {
    context.err << "nodepool: " << error.what() << '\n';
    return failure_status(arguments, error);
  }
}

}  // namespace

std::string process_hostname() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string process_identity() {
  const passwd* user = ::getpwuid(::getuid());
  const std::string name = user == nullptr ? std::to_string(::getuid()) : user->pw_name;
  return name + "@" + process_hostname();
}

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int run(Context& context) {
  const SanitizedOutput out(context.out);
  const SanitizedOutput err(context.err);
  int status = perform_arguments(context);
  context.out.flush();
  if (!context.out) {
    context.err << "nodepool: cannot write to standard output\n";
    if (status == 0) status = 1;
  }
  context.err.flush();
  return status;
}

}  // namespace nodepool::cli
