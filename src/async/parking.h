#pragma once

#include <boost/asio/steady_timer.hpp>

#include "async/task.h"

namespace nodepool::async {

// Suspends a task until wake(): the basis of this module's waits. It lives in the waiting task's
// frame.
class ParkedTask {
 public:
  explicit ParkedTask(const Executor& executor);
  ParkedTask(const ParkedTask&) = delete;
  ParkedTask& operator=(const ParkedTask&) = delete;

  // Lets park() return. Does nothing if it has returned.
  void wake();

  // Returns after wake(), or at once if it has been called. Throws Cancelled.
  Task<> park();

  // Like park(), but ignores cancellation.
  Task<> park_through_cancellation();

 private:
  Task<> wait_once();

  bool woken_ = false;
  // A timer that never fires. Cancelling it resumes the task.
  boost::asio::steady_timer timer_;
};

// Throws Cancelled if the calling task has been cancelled.
Task<> throw_if_cancelled();

}  // namespace nodepool::async
