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
  int status = 0;       // as in a shell; 126 if it could not be run, 127 if it does not exist
  bool has_run = true;  // false: the error has been printed
};

// Runs a program without a shell, on the terminal of this process, and forwards signals to it.
Task<ChildEnd> run_child(Context& context, async::Signals& signals,
                         std::vector<std::string> arguments, config::Environment environment);

// The value of a variable; `fallback` if it is unset or empty.
std::string variable(const config::Environment& environment, std::string_view name,
                     std::string fallback);

// Whether the terminal, or a program that reads from it as with `ssh -t`, understands no control
// sequences: TERM=dumb.
bool is_dumb(const config::Environment& environment);

}  // namespace nodepool::cli
