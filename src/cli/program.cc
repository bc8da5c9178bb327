#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <exception>
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
#include "config/load.h"
#include "program/log_config.h"
#include "telemetry/version.h"

namespace nodepool::cli {

namespace {

telemetry::LogOptions log_options(const Arguments& arguments) {
  if (!arguments.debug && arguments.log_config)
    return program::load_log_config(*arguments.log_config).options;
  telemetry::LogOptions options;
  options.levels[""] = arguments.debug ? telemetry::LogLevel::debug : telemetry::LogLevel::info;
  return options;
}

config::Config load_config(const Context& context, const Arguments& arguments,
                           const telemetry::Logger& log) {
  config::LoadOptions options{arguments.config, arguments.secure, context.environment,
                              context.drivers.schemas()};
  config::LoadResult loaded = config::load(options);
  for (const config::Problem& problem : loaded.warnings) log.debug("{}", to_string(problem));
  return std::move(loaded.config);
}

// Performs the command and closes the installation. A failure to do this does not change the
// command's result.
Task<int> perform_and_close(Context& context, Installation& installation, Task<int> performing) {
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

Task<int> perform_on(Context& context, Installation& installation, InstallationCommand command) {
  Task<int> performing = std::visit(
      [&](auto& kind) { return perform(context, installation, std::move(kind)); }, command);
  co_return co_await perform_and_close(context, installation, std::move(performing));
}

Task<int> perform_on_session(StoreInstallation& installation, StoreCommand command) {
  Session* session = co_await installation.session();
  Task<int> performing =
      std::visit([session](auto& kind) { return perform(*session, std::move(kind)); }, command);
  co_return co_await std::move(performing);
}

int perform_remotely(Context& context, const remote::ApiAddress& address,
                     const Arguments& arguments, const std::shared_ptr<telemetry::Log>& log) {
  const auto* command = std::get_if<InstallationCommand>(&arguments.command);
  if (command == nullptr) {
    throw std::runtime_error("this command needs the store and does not work with --url");
  }
  const auto warn = [&context](const std::string& text) {
    context.err << "nodepool: " << text << '\n' << std::flush;
  };
  remote::RemoteInstallation installation(context.runtime, address, {log, "nodepool.api"}, warn);
  return context.loop.run(perform_on(context, installation, *command));
}

int perform_by_store(Context& context, const Arguments& arguments,
                     const std::shared_ptr<telemetry::Log>& log, const Command& command) {
  StoreInstallation installation(context, load_config(context, arguments, {log, "nodepool.config"}),
                                 arguments.store_use, log);
  if (const auto* general = std::get_if<InstallationCommand>(&command)) {
    return context.loop.run(perform_on(context, installation, *general));
  }
  Task<int> performing = perform_on_session(installation, std::get<StoreCommand>(command));
  return context.loop.run(perform_and_close(context, installation, std::move(performing)));
}

int perform_any(Context& context, const Arguments& arguments) {
  const auto log = std::make_shared<telemetry::Log>(log_options(arguments));
  if (const auto* offline = std::get_if<OfflineCommand>(&arguments.command)) {
    const int status = std::visit(
        [&](const auto& command) { return perform(context, arguments, command, log); }, *offline);
    const auto* validation = std::get_if<ValidateConfig>(offline);
    if (status != 0 || validation == nullptr || !validation->online) return status;
    return perform_by_store(context, arguments, log, StoreCommand(CheckClouds{}));
  }
  const std::optional<remote::ApiAddress> address = remote_address(context, arguments);
  return address ? perform_remotely(context, *address, arguments, log)
                 : perform_by_store(context, arguments, log, arguments.command);
}

// The same as ssh's own, to distinguish it from the status of the command.
constexpr int kSshFailed = 255;

// The exit status if the command has thrown an exception.
int failure_status(const Arguments& arguments) {
  if (command_if<RunCommand>(arguments) != nullptr) return kNotRun;
  if (command_if<ShowStatus>(arguments) != nullptr) return kCritical;
  return command_if<UseShell>(arguments) != nullptr ? kSshFailed : 1;
}

}  // namespace

std::string process_identity() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const passwd* user = ::getpwuid(::getuid());
  const std::string name = user == nullptr ? std::to_string(::getuid()) : user->pw_name;
  return name + "@" + host.data();
}

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int run(Context& context) {
  const SanitizedOutput out(context.out);
  const SanitizedOutput err(context.err);
  auto parsed = parse_arguments(context.arguments, telemetry::version(), context.out, context.err);
  if (const auto* exit = std::get_if<Exit>(&parsed)) return exit->status;
  const auto& arguments = std::get<Arguments>(parsed);
  int status = 0;
  try {
    status = perform_any(context, arguments);
  } catch (const std::exception& error) {
    status = failure_status(arguments);
    context.err << "nodepool: " << error.what() << '\n';
  }
  context.out.flush();
  context.err.flush();
  return status;
}

}  // namespace nodepool::cli
