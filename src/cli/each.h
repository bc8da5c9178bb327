#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cli/context.h"

namespace nodepool::cli {

using async::Task;

// Performs a command for one of its arguments; returns the exit status.
using Act = std::function<Task<int>(std::string id)>;

// Calls `act` for each id in turn and returns the highest status. An exception is printed, counts
// as status 1, and does not stop the others. Throws Cancelled.
Task<int> for_each(Context& context, std::vector<std::string> ids, Act act);

}  // namespace nodepool::cli
