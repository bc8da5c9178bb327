#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cli/context.h"
#include "report/explanation/statement.h"

namespace nodepool::cli {

using async::Task;

// Explains one subject. Throws std::exception if it does not exist.
using Explaining = std::function<Task<report::Explanation>(std::string subject)>;

// Prints the explanation of each subject; returns the exit status.
Task<int> print_explanations(Context& context, std::vector<std::string> subjects, bool json,
                             Explaining explain);

}  // namespace nodepool::cli
