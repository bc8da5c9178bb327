#pragma once

#include <string>
#include <vector>

#include "async/signals.h"
#include "async/task.h"
#include "cli/context.h"
#include "config/environment.h"

namespace nodepool::cli {

using async::Task;

struct ChildEnd {
  int status = 0;       // as a shell has it; 126 if it could not be run, 127 if it does not exist
  bool has_run = true;  // else it has been said why not
};

// Runs a program without a shell, at the terminal of this process, and passes on the signals that
// come meanwhile.
Task<ChildEnd> run_child(Context& context, async::Signals& signals,
                         std::vector<std::string> arguments, config::Environment environment);

// The value of a variable; `fallback` if it is not there, or empty.
std::string variable(const config::Environment& environment, std::string_view name,
                     std::string fallback);

}  // namespace nodepool::cli
