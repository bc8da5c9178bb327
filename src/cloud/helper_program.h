#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "config/environment.h"

namespace nodepool::cloud {

// A program that hands out credentials: for a cluster, an account.
struct HelperProgram {
  std::string what;                      // it is called in errors: "exec plug-in"
  std::vector<std::string> arguments;    // the program, looked up in PATH, and its arguments
  config::Environment environment = {};  // besides helper_environment(), and over it
  std::chrono::milliseconds time_limit = std::chrono::minutes(1);
};

// What a helper program sees of this process's environment: where programs and files are, the
// language, proxies and authorities, and how the tools of clouds find their own credentials. Not
// the rest: NODEPOOL_ variables, for one, hold passwords of other services.
config::Environment helper_environment(const config::Environment& own);

// Runs it without a shell, and returns what it writes to its standard output. Of its standard
// error, 64 KiB go to that of this process. Nothing that it starts outlives it, nor this process
// (async/supervisor.h). Throws CloudError(auth): it fails, takes too long, or writes more than
// credentials; std::system_error: it cannot be run. No error holds what it has written.
async::Task<std::string> output_of(async::Runtime runtime, HelperProgram program);

}  // namespace nodepool::cloud
