#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "builder/build_log.h"
#include "builder/program_run.h"

namespace nodepool::builder {

using async::Task;
using Environment = std::map<std::string, std::string>;  // of a program

// "NAME=value" for each variable.
std::vector<std::string> lines_of(const Environment& environment);

// Context for running programs that create images. Outlives its users.
struct ProgramContext {
  async::Runtime runtime;
  async::ThreadPool& threads;
  Environment environment;  // of this process
  // Time between SIGTERM and SIGKILL when a program is ended.
  async::Duration grace = std::chrono::seconds(30);
};

// Runs a program for at most `build_timeout` seconds. The log gets its output and its exit code.
// All arguments outlive the task. Throws std::system_error, Cancelled.
Task<ProgramEnd> run_logged(const ProgramContext& context, std::vector<std::string> arguments,
                            const Environment& environment, std::int64_t build_timeout,
                            const BuildLog& log);

// "exit code 7", or the timeout.
std::string description(const ProgramEnd& end, std::int64_t build_timeout);

}  // namespace nodepool::builder
