#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <optional>
#include <ostream>
#include <system_error>

#include "async/finally.h"
#include "async/signals.h"
#include "async/subprocess.h"
#include "cli/access_files.h"
#include "cli/commands.h"
#include "cli/private_directory.h"
#include "cli/waiting.h"
#include "requestor/held_nodes.h"

namespace nodepool::cli {

namespace {

using async::Signals;
using async::Subprocess;
using requestor::HeldNodes;

// As `timeout`, `env` and others have it, to be told from the command's own.
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

std::string variable(const config::Environment& environment, std::string_view name,
                     std::string fallback) {
  for (const auto& [key, value] : environment) {
    if (key == name && !value.empty()) return value;
  }
  return fallback;
}

// Whether what is typed at the terminal reaches this process, and the command with it.
bool is_in_foreground() {
  const int terminal = ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return false;
  const bool in_foreground = ::tcgetpgrp(terminal) == ::getpgrp();
  ::close(terminal);
  return in_foreground;
}

// Passes a signal on to the command, unless the terminal has sent it to the command already.
void pass_on(int signal, Subprocess& process) {
  const bool typed = signal == SIGINT || signal == SIGQUIT;
  if (!typed || !is_in_foreground()) process.send_signal(signal);
}

Subprocess::Command command_line(const RunCommand& command,
                                 const config::Environment& environment) {
  Subprocess::Command line;
  line.arguments = command.command;
  for (const auto& [name, value] : environment)
    line.environment.push_back(fmt::format("{}={}", name, value));
  // The nodes are given back when this process dies: nobody may go on using them.
  line.signal_when_orphaned = SIGTERM;
  return line;
}

Task<> obtain(Session& session, RunCommand command, HeldNodes& held,
              std::optional<requestor::Answer>& answer) {
  answer = co_await request_and_wait(session, command.labels, command.timeout);
  if (answer->kind != requestor::Answer::Kind::fulfilled) co_return;
  co_await held.accept(answer->request);
}

Task<> await_end(Subprocess& process, std::optional<Subprocess::Ending>& ending) {
  ending = co_await process.wait();
}

Task<int> supervise(Signals& signals, Subprocess& process) {
  std::optional<Subprocess::Ending> ending;
  while (!ending) {
    Task<> waiting = await_end(process, ending);
    const std::optional<int> signal = co_await signals.until_next(std::move(waiting));
    if (signal && !ending) pass_on(*signal, process);
  }
  co_return ending->shell_status();
}

Task<int> run_with_nodes(Session& session, RunCommand command, Signals& signals,
                         const HeldNodes& held) {
  Context& context = session.context();
  const std::vector<NodeAccess> nodes = access_to(held.nodes(), command.labels);
  const PrivateDirectory directory(variable(context.environment, "TMPDIR", "/tmp"));
  const AccessPaths paths{directory.path_of("ssh_config"), directory.path_of("known_hosts"),
                          directory.path_of("inventory.yaml")};
  directory.write("ssh_config", ssh_config_text(nodes, paths));
  directory.write("known_hosts", known_hosts_text(nodes));
  directory.write("inventory.yaml", inventory_text(nodes, paths));
  const config::Environment environment = access_environment(context.environment, nodes, paths);
  std::optional<Subprocess> process;
  try {
    process.emplace(session.runtime().executor, command_line(command, environment));
  } catch (const std::system_error& error) {
    context.err << "nodepool: " << error.what() << '\n';
    co_return error.code() == std::errc::no_such_file_or_directory ? kNotFound : kCannotRun;
  }
  co_return co_await supervise(signals, *process);
}

// What the command has done counts, whatever becomes of the nodes.
Task<> give_back(Context& context, HeldNodes& held) {
  try {
    co_await held.release();
  } catch (const coordination::StoreError& error) {
    context.err << "nodepool: the nodes go back with the end of this session, because they could "
                   "not be given back: "
                << error.what() << '\n';
  }
}

}  // namespace

Task<int> perform(Session& session, RunCommand command) {
  Context& context = session.context();
  Signals signals(session.runtime().executor, {SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  HeldNodes held(session.runtime(), session.store());
  std::optional<requestor::Answer> answer;
  Task<> obtaining = obtain(session, command, held, answer);
  const std::optional<int> interrupted = co_await signals.until_next(std::move(obtaining));
  if (!interrupted && answer->kind != requestor::Answer::Kind::fulfilled) {
    context.err << "nodepool: " << explain(*answer) << '\n';
    co_return kNotRun;
  }
  if (interrupted) {
    context.err << "nodepool: interrupted; the request has been withdrawn\n";
    co_await give_back(context, held);
    co_return 128 + *interrupted;
  }
  Task<int> running = run_with_nodes(session, std::move(command), signals, held);
  const auto end = [&context, &held] { return give_back(context, held); };
  co_return co_await async::finally(std::move(running), end);
}

}  // namespace nodepool::cli
