#pragma once

#include <exception>

#include "async/task.h"

namespace nodepool::async {

// Runs `task` and stores its exception in `failure`, for callers of Asio's operator||, which waits
// for the other operand after an exception. The task runs even if the caller has been cancelled;
// its own waits throw then.
Task<> keep_outcome(Task<> task, std::exception_ptr& failure);

}  // namespace nodepool::async
