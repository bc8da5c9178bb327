#include "cloud/helper_program.h"

#include <fmt/format.h>

#include "async/deadline.h"
#include "async/output_pipe.h"
#include "async/subprocess.h"
#include "config/environment.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {

using async::Task;
using driver::CloudError;

namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::size_t kMostOutput = std::size_t{1} << 20;  // bytes

CloudError failure(const HelperProgram& program, const std::string& problem) {
  return {CloudError::Kind::auth, program.what + " " + problem};
}

async::Subprocess::Command command_of(const HelperProgram& program) {
  async::Subprocess::Command command;
  command.arguments = program.arguments;
  for (const auto& [name, value] : config::process_environment()) {
    command.environment.push_back(fmt::format("{}={}", name, value));
  }
  command.environment.insert(command.environment.end(), program.environment.begin(),
                             program.environment.end());
  command.signal_when_orphaned = 15;  // SIGTERM
  command.keeps_standard_error = true;
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
    if (output.size() > kMostOutput) throw failure(program, "writes more than credentials");
  }
}

Task<std::string> run(async::Runtime runtime, const HelperProgram& program) {
  async::OutputPipe pipe(runtime.executor);
  async::Subprocess::Command command = command_of(program);
  command.output = pipe.writing_end();
  async::Subprocess process(runtime.executor, command);
  pipe.close_writing_end();
  std::string output = co_await read_all(pipe, program);
  const auto ending = co_await process.wait();
  if (ending.shell_status() != 0) {
    throw failure(program, fmt::format("{} has failed with status {}", program.arguments.front(),
                                       ending.shell_status()));
  }
  co_return output;
}

}  // namespace

Task<std::string> output_of(async::Runtime runtime, HelperProgram program) {
  Task<std::string> running = run(runtime, program);
  const auto deadline = runtime.clock.now() + kPatience;
  try {
    co_return co_await async::with_deadline(runtime.clock, deadline, std::move(running),
                                            "running it");
  } catch (const async::DeadlineExceeded&) {
    throw failure(program, program.arguments.front() + " takes too long");
  }
}

}  // namespace nodepool::cloud
