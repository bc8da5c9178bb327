#pragma once

#include <exception>

#include "async/task.h"

namespace nodepool::async {

// Runs `task` and puts what it throws into `failure`, for a caller that runs it beside something
// else: Asio's operator|| waits for the other side after a failure, too, if it sees one. The task
// runs even if the caller has been cancelled already; its own waits see that.
Task<> keep_outcome(Task<> task, std::exception_ptr& failure);

}  // namespace nodepool::async
