#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace nodepool::telemetry {

// Looks at what the threads of this process are doing, by interrupting each of them for a moment
// with the signal SIGRTMIN, which is taken for that.
class ThreadStacks {
 public:
  struct Stack {
    pid_t id = 0;
    std::string name;                 // as in ps -L
    std::vector<std::string> frames;  // innermost first; empty if the thread did not answer
  };

  // Installs the signal's handler.
  ThreadStacks();
  ~ThreadStacks();
  ThreadStacks(const ThreadStacks&) = delete;
  ThreadStacks& operator=(const ThreadStacks&) = delete;

  // All threads but the calling one, by id. Blocks for up to a second if a thread does not
  // answer: one that is stuck in the kernel.
  std::vector<Stack> take();

 private:
  struct Question;
  // Those that were not answered stay: the answer may still come.
  std::vector<std::unique_ptr<Question>> unanswered_;
};

}  // namespace nodepool::telemetry
