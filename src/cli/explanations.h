#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cli/context.h"
#include "report/explanation/statement.h"

namespace nodepool::cli {

using async::Task;

// What there is to say about one subject. Throws std::exception if there is nothing.
using Explaining = std::function<Task<report::Explanation>(std::string subject)>;

// Prints what there is to say about each; returns the exit status.
Task<int> print_explanations(Context& context, std::vector<std::string> subjects, bool json,
                             Explaining explain);

}  // namespace nodepool::cli
