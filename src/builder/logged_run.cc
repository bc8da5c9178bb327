#include "builder/logged_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nodepool::builder {

namespace {

// Seconds. Larger values would overflow.
constexpr std::int64_t kLongestTimeout = 1'000'000'000;

}  // namespace

std::vector<std::string> lines_of(const Environment& environment) {
  std::vector<std::string> lines;
  lines.reserve(environment.size());
  for (const auto& [name, value] : environment) lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

Task<ProgramEnd> run_logged(const ProgramContext& context, std::vector<std::string> arguments,
                            const Environment& environment, std::int64_t build_timeout,
                            const BuildLog& log) {
  async::Subprocess::Command command;
  command.environment = lines_of(environment);
  command.arguments = std::move(arguments);
  const auto timeout = std::chrono::seconds(std::min(build_timeout, kLongestTimeout));
  Task<ProgramEnd> running = run_program(context.runtime, context.threads, std::move(command),
                                         log.file(), timeout, context.grace);
  const ProgramEnd end = co_await std::move(running);
  log.write_line(end.timed_out ? fmt::format("Timed out after {} s (build-timeout)", build_timeout)
                               : fmt::format("Exit code: {}", end.exit_code));
  co_return end;
}

std::string description(const ProgramEnd& end, std::int64_t build_timeout) {
  return end.timed_out ? fmt::format("timed out after {} s (build-timeout)", build_timeout)
                       : fmt::format("exit code {}", end.exit_code);
}

}  // namespace nodepool::builder
