#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cli/context.h"

namespace nodepool::cli {

using async::Task;

// What a command does with one of its arguments; the exit status.
using Act = std::function<Task<int>(std::string id)>;

// Does it with each in turn. One that throws is reported, has the status 1, and does not keep the
// others from being done. Returns the highest status. Throws Cancelled.
Task<int> for_each(Context& context, std::vector<std::string> ids, Act act);

}  // namespace nodepool::cli
