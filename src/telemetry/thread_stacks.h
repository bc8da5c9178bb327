#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace nodepool::telemetry {

// Gets the stacks of the threads of this process by interrupting each with the signal SIGRTMIN.
class ThreadStacks {
 public:
  struct Stack {
    pid_t id = 0;
    std::string name;                 // as in ps -L
    std::vector<std::string> frames;  // innermost first; empty if the thread did not respond
  };

  // Installs the signal's handler.
  ThreadStacks();
  ~ThreadStacks();
  ThreadStacks(const ThreadStacks&) = delete;
  ThreadStacks& operator=(const ThreadStacks&) = delete;

  // The stacks of all threads except the calling one, by id. Blocks for up to a second if a thread
  // does not respond because it is stuck in the kernel. Throws std::system_error if the threads
  // cannot be listed, such as without a free file descriptor.
  std::vector<Stack> take();

 private:
  struct StackRequest;
  // Kept, because their signals may still arrive.
  std::vector<std::unique_ptr<StackRequest>> pending_;
};

}  // namespace nodepool::telemetry
