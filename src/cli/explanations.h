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

class Session;

// Explains by the records of the session's store. With `online`, asks the clouds, too.
Explaining explaining_by_store(Session& session, bool online);

// Prints the explanation of each subject; returns the exit status.
Task<int> print_explanations(Context& context, std::vector<std::string> subjects, bool json,
                             Explaining explain);

}  // namespace nodepool::cli
