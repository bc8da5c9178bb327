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

// What those work with who run programs that make images; outlives them.
struct ProgramSite {
  async::Runtime runtime;
  async::ThreadPool& threads;
  Environment environment;  // of this process
  // How long a program may take to end when it is asked to.
  async::Duration grace = std::chrono::seconds(30);
};

// Runs a program for `build_timeout` seconds at most, with its output in the log, and after that
// how it has ended. All arguments outlive the task. Throws std::system_error, Cancelled.
Task<ProgramEnd> run_logged(const ProgramSite& site, std::vector<std::string> arguments,
                            const Environment& environment, std::int64_t build_timeout,
                            const BuildLog& log);

// "exit code 7", or that it took too long.
std::string description(const ProgramEnd& end, std::int64_t build_timeout);

}  // namespace nodepool::builder
