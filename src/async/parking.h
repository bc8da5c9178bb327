#pragma once

#include <boost/asio/steady_timer.hpp>

#include "async/task.h"

namespace nodepool::async {

// One task that stands still until somebody wakes it: what the waits of this room are made of. It
// lives in the waiting task's frame.
class ParkedTask {
 public:
  explicit ParkedTask(const Executor& executor);
  ParkedTask(const ParkedTask&) = delete;
  ParkedTask& operator=(const ParkedTask&) = delete;

  // Lets park() return. Harmless when it has already returned.
  void wake();

  // Returns after wake(), at once if that has been called already. Throws Cancelled.
  Task<> park();

  // As park(), but a cancellation does not end it.
  Task<> park_through_cancellation();

 private:
  Task<> wait_once();

  bool woken_ = false;
  // A timer that never fires: cancelling it is how Asio resumes a task from the outside.
  boost::asio::steady_timer timer_;
};

// Throws Cancelled if the calling task has been cancelled.
Task<> throw_if_cancelled();

}  // namespace nodepool::async
