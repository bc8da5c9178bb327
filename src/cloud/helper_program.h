#pragma once

#include <string>
#include <vector>

#include "async/runtime.h"

namespace nodepool::cloud {

// A program that hands out credentials: for a cluster, an account.
struct HelperProgram {
  std::string what;                           // it is called in errors: "exec plug-in"
  std::vector<std::string> arguments;         // the program, looked up in PATH, and its arguments
  std::vector<std::string> environment = {};  // "NAME=value", besides that of this process
};

// Runs it without a shell, and returns what it writes to its standard output; its standard error is
// that of this process. Throws CloudError(auth): it fails, takes more than a minute, or writes more
// than credentials; std::system_error: it cannot be run. No error holds what it has written.
async::Task<std::string> output_of(async::Runtime runtime, HelperProgram program);

}  // namespace nodepool::cloud
