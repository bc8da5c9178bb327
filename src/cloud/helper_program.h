#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "config/environment.h"

namespace nodepool::cloud {

// A program that prints credentials for a cluster or an account.
struct HelperProgram {
  std::string what;                      // name in errors: "exec plug-in"
  std::vector<std::string> arguments;    // the program, searched in PATH, and its arguments
  config::Environment environment = {};  // overrides helper_environment()
  std::chrono::milliseconds time_limit = std::chrono::minutes(1);
};

// The part of this process's environment that helper programs get: paths, language, proxies, CA
// certificates, and the variables of cloud tools. The rest may hold secrets, such as the passwords
// in NODEPOOL_ variables.
config::Environment helper_environment(const config::Environment& own);

// Runs the program without a shell, and returns its standard output. Copies up to 64 KiB of its
// standard error to this process's. All processes that it starts end with it and with this process
// (async/supervisor.h). Throws CloudError(auth) if it fails, times out or writes more than 1 MiB,
// and std::system_error if it cannot be run. No error contains its output.
async::Task<std::string> output_of(async::Runtime runtime, HelperProgram program);

}  // namespace nodepool::cloud
