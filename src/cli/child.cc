#include "cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <ostream>
#include <system_error>
#include <utility>

#include "async/subprocess.h"

namespace nodepool::cli {

namespace {

using async::Signals;
using async::Subprocess;

// The same as of `timeout`, `env` and others, to distinguish them from the command's own.
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

// Whether the terminal sends its signals to this process, and therefore to the command.
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

Subprocess::Command command_line(std::vector<std::string> arguments,
                                 const config::Environment& environment) {
  Subprocess::Command line;
  line.arguments = std::move(arguments);
  for (const auto& [name, value] : environment)
    line.environment.push_back(fmt::format("{}={}", name, value));
  // Its nodes are released when this process dies.
  line.signal_when_orphaned = SIGTERM;
  return line;
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

}  // namespace

std::string variable(const config::Environment& environment, std::string_view name,
                     std::string fallback) {
  for (const auto& [key, value] : environment) {
    if (key == name && !value.empty()) return value;
  }
  return fallback;
}

bool is_dumb(const config::Environment& environment) {
  return variable(environment, "TERM", "") == "dumb";
}

Task<ChildEnd> run_child(Context& context, Signals& signals, std::vector<std::string> arguments,
                         config::Environment environment) {
  std::optional<Subprocess> process;
  try {
    process.emplace(context.runtime.executor, command_line(std::move(arguments), environment));
  } catch (const std::system_error& error) {
    context.err << "nodepool: " << error.what() << '\n';
    const bool is_missing = error.code() == std::errc::no_such_file_or_directory;
    co_return ChildEnd{.status = is_missing ? kNotFound : kCannotRun, .has_run = false};
  }
  co_return ChildEnd{.status = co_await supervise(signals, *process)};
}

}  // namespace nodepool::cli
