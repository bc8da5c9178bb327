#include "cloud/helper_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string_view>

#include "async/deadline.h"
#include "async/finally.h"
#include "async/output_pipe.h"
#include "async/subprocess.h"
#include "async/task_scope.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {

using async::Task;
using driver::CloudError;

namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 20;   // bytes
constexpr std::size_t kMostErrors = std::size_t{64} << 10;  // bytes
constexpr auto kGrace = std::chrono::seconds(2);

// Prefixes of names.
constexpr std::array<std::string_view, 8> kPassedKinds = {"LC_",  "XDG_",      "AWS_",    "AZURE_",
                                                          "AAD_", "CLOUDSDK_", "GOOGLE_", "KUBE"};

constexpr std::array<std::string_view, 20> kPassed = {"PATH",
                                                      "HOME",
                                                      "USER",
                                                      "LOGNAME",
                                                      "LANG",
                                                      "LANGUAGE",
                                                      "TZ",
                                                      "TMPDIR",
                                                      "http_proxy",
                                                      "https_proxy",
                                                      "no_proxy",
                                                      "all_proxy",
                                                      "HTTP_PROXY",
                                                      "HTTPS_PROXY",
                                                      "NO_PROXY",
                                                      "ALL_PROXY",
                                                      "SSL_CERT_FILE",
                                                      "SSL_CERT_DIR",
                                                      "CURL_CA_BUNDLE",
                                                      "REQUESTS_CA_BUNDLE"};

CloudError failure(const HelperProgram& program, const std::string& problem) {
  return {CloudError::Kind::auth, program.what + " " + problem};
}

async::Subprocess::Command command_of(const HelperProgram& program) {
  async::Subprocess::Command command;
  command.arguments = program.arguments;
  // The first of two variables with the same name counts.
  config::Environment environment = program.environment;
  std::ranges::move(helper_environment(config::process_environment()),
                    std::back_inserter(environment));
  std::set<std::string> names;
  for (const auto& [name, value] : environment) {
    if (names.insert(name).second) command.environment.push_back(fmt::format("{}={}", name, value));
  }
  command.grace = kGrace;
  return command;
}

Task<std::string> read_all(async::OutputPipe& pipe, const HelperProgram& program) {
  std::string output;
  while (true) {
    co_await pipe.readable();
    std::string part;
    const auto found = pipe.reader().read(part);
    if (found == async::OutputPipe::Reader::Found::end) co_return output;
    if (found == async::OutputPipe::Reader::Found::some) output += part;
    if (output.size() > kMostOutput) throw failure(program, "writes more than 1 MiB");
  }
}

// Reads the rest as well, so that the program does not block.
Task<> pass_errors_on(async::OutputPipe& pipe) {
  std::size_t left = kMostErrors;
  while (true) {
    co_await pipe.readable();
    std::string part;
    const auto found = pipe.reader().read(part);
    if (found == async::OutputPipe::Reader::Found::end) co_return;
    if (found == async::OutputPipe::Reader::Found::nothing) continue;
    const std::size_t count = std::min(left, part.size());
    std::fwrite(part.data(), 1, count, stderr);
    left -= count;
  }
}

Task<std::string> finish(async::Subprocess& process, async::OutputPipe& pipe,
                         async::TaskScope& errors, const HelperProgram& program) {
  std::string output = co_await read_all(pipe, program);
  const auto ending = co_await process.wait();
  co_await errors.join();
  if (ending.shell_status() != 0) {
    throw failure(program, fmt::format("{} failed with exit status {}", program.arguments.front(),
                                       ending.shell_status()));
  }
  co_return output;
}

Task<std::string> run(async::Runtime runtime, const HelperProgram& program) {
  async::OutputPipe pipe(runtime.executor);
  async::OutputPipe error_pipe(runtime.executor);
  async::Subprocess::Command command = command_of(program);
  command.output = pipe.writing_end();
  command.error_output = error_pipe.writing_end();
  async::Subprocess process(runtime.executor, command);
  pipe.close_writing_end();
  error_pipe.close_writing_end();
  async::TaskScope errors(runtime, [](const std::string&, const std::string&) {});
  errors.spawn("standard error of " + program.what, pass_errors_on(error_pipe));
  Task<std::string> running = finish(process, pipe, errors, program);
  const std::function<Task<>()> stop = [&errors] { return errors.stop(); };
  co_return co_await async::finally(std::move(running), stop);
}

}  // namespace

config::Environment helper_environment(const config::Environment& own) {
  config::Environment passed;
  std::ranges::copy_if(own, std::back_inserter(passed), [](const auto& variable) {
    const std::string& name = variable.first;
    return std::ranges::find(kPassed, name) != kPassed.end() ||
           std::ranges::any_of(kPassedKinds,
                               [&name](std::string_view kind) { return name.starts_with(kind); });
  });
  return passed;
}

Task<std::string> output_of(async::Runtime runtime, HelperProgram program) {
  Task<std::string> running = run(runtime, program);
  const auto deadline = runtime.clock.now() + program.time_limit;
  try {
    co_return co_await async::with_deadline(runtime.clock, deadline, std::move(running),
                                            "running it");
  } catch (const async::DeadlineExceeded&) {
    throw failure(program, program.arguments.front() + " timed out");
  }
}

}  // namespace nodepool::cloud
