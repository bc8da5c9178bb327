#pragma once

#include <functional>
#include <memory>
#include <string>

#include "async/runtime.h"

namespace nodepool::async {

// Owns running tasks: every task that is not awaited in place is spawned through a scope, and the
// scope is stopped (or joined) before what its tasks use goes away.
class TaskScope {
 public:
  // Told of an exception that escaped a task, with the task's name. Cancelled is not reported.
  using ErrorHandler = std::function<void(const std::string& name, const std::string& error)>;

  TaskScope(const Runtime& runtime, ErrorHandler on_error);
  // The tasks must have ended (stop() or join()), or their event loop must be gone.
  ~TaskScope();
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  // Starts `task` at the event loop's next turn. After cancel() the task is dropped unstarted.
  // `name` is for errors and for live_tasks().
  void spawn(std::string name, Task<> task);

  // Asks every task to end: its present or next wait throws Cancelled. Nothing new starts.
  void cancel();

  // Returns when no task is left. A cancellation of the caller does not end it: an owner outlives
  // its tasks.
  Task<> join();

  // cancel(), then join().
  Task<> stop();

  bool empty() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace nodepool::async
