#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <optional>
#include <ostream>
#include <utility>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/remote_commands.h"
#include "cli/sanitized_output.h"
#include "cli/session.h"
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

// Closes the session. A failure does not change the command's result: the session times out.
Task<> close(Session& session, bool failed) {
  try {
    co_await session.close();
  } catch (const coordination::StoreError& error) {
    // The command's own error is more useful.
    if (failed) co_return;
    session.context().err << "nodepool: the session could not be closed, and will time out: "
                          << error.what() << '\n';
  }
}

Task<int> perform_and_close(Session& session, OnlineCommand command) {
  int status = 0;
  std::exception_ptr failure;
  try {
    Task<int> performing = std::visit(
        [&session](auto& alternative) { return perform(session, std::move(alternative)); },
        command);
    status = co_await std::move(performing);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await close(session, failure != nullptr);
  if (failure) std::rethrow_exception(failure);
  co_return status;
}

Task<int> perform_online(Context& context, config::Config config,
                         std::shared_ptr<telemetry::Log> log, StoreUse use, OnlineCommand command) {
  Task<std::unique_ptr<coordination::Store>> opening =
      context.open_store(config.store, config.zookeeper, use);
  std::unique_ptr<coordination::Store> store = co_await std::move(opening);
  Session session(context, std::move(config), std::move(store), std::move(log));
  co_return co_await perform_and_close(session, std::move(command));
}

int perform_any(Context& context, const Arguments& arguments) {
  const auto log = std::make_shared<telemetry::Log>(log_options(arguments));
  const auto* offline_one = std::get_if<OfflineCommand>(&arguments.command);
  // The other offline commands use local files.
  const bool may_be_remote =
      offline_one == nullptr || std::holds_alternative<ShowHistory>(*offline_one);
  auto address = may_be_remote ? remote_address(context, arguments) : std::nullopt;
  if (address) {
    return context.loop.run(perform_remotely(context, *std::move(address), arguments.command, log));
  }
  std::optional<OnlineCommand> online;
  if (const auto* offline = std::get_if<OfflineCommand>(&arguments.command)) {
    const int status = std::visit(
        [&](const auto& command) { return perform(context, arguments, command, log); }, *offline);
    const auto* validation = std::get_if<ValidateConfig>(offline);
    if (status != 0 || validation == nullptr || !validation->online) return status;
    online = CheckClouds{};
  } else {
    online = std::get<OnlineCommand>(arguments.command);
  }
  config::Config config = load_config(context, arguments, {log, "nodepool.config"});
  return context.loop.run(
      perform_online(context, std::move(config), log, arguments.store_use, *std::move(online)));
}

// The same as ssh's own, to distinguish it from the status of the command.
constexpr int kSshFailed = 255;

// The exit status if the command has thrown an exception.
int failure_status(const Arguments& arguments) {
  const auto* online = std::get_if<OnlineCommand>(&arguments.command);
  if (online == nullptr) return 1;
  if (std::holds_alternative<RunCommand>(*online)) return kNotRun;
  if (std::holds_alternative<ShowStatus>(*online)) return kCritical;
  return std::holds_alternative<UseShell>(*online) ? kSshFailed : 1;
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
