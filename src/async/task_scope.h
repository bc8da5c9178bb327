#pragma once

#include <functional>
#include <memory>
#include <string>

#include "async/runtime.h"

namespace nodepool::async {

// Owns running tasks. Every task that is not awaited directly is spawned through a scope. The scope
// must be stopped or joined before the objects that its tasks use are destroyed.
class TaskScope {
 public:
  // Gets the task's name and the message of an uncaught exception other than Cancelled.
  using ErrorHandler = std::function<void(const std::string& name, const std::string& error)>;

  TaskScope(const Runtime& runtime, ErrorHandler on_error);
  // The tasks must have ended, or their event loop must be gone.
  ~TaskScope();
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  // Starts `task` in the next iteration of the loop. After cancel(), drops the task unstarted.
  // `name` is for errors and for live_tasks().
  void spawn(std::string name, Task<> task);

  // Cancels every task: its current or next wait throws Cancelled. No new tasks start.
  void cancel();

  // Waits until no task is left. Ignores cancellation of the caller, because an owner must outlive
  // its tasks.
  Task<> join();

  // cancel(), then join().
  Task<> stop();

  // Waits until no task is left. If the caller is cancelled meanwhile, stops the tasks. Throws
  // Cancelled after they have ended.
  Task<> join_or_stop();

  bool empty() const;

 private:
  struct State;
  struct Joining;

  std::shared_ptr<State> state_;
};

}  // namespace nodepool::async
