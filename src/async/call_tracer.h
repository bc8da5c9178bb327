#pragma once

#include <memory>
#include <string_view>

#include "async/task.h"

namespace nodepool::async {

// Is told what a task does with the world outside of the process, by the few rooms that reach out:
// so whoever runs a task learns what became of it, and what lies between need not pass it on. The
// texts are valid during the call only.
class CallTracer {
 public:
  // One attempt at a call of an API. Nothing in it is secret.
  struct Call {
    std::string_view name = {};    // what for: "compute: create server"
    std::string_view method = {};  // "POST"; empty for a client of another kind
    std::string_view path = {};    // without host and query
    int status = 0;                // 0: no answer
    std::string_view id = {};      // what the server calls the request; may be empty
    Duration taken{};
  };

  virtual ~CallTracer() = default;

  virtual void called(const Call& call) = 0;
  // The task has seen a list that was asked for on behalf of many, such as all machines.
  virtual void looked(std::string_view list) = 0;
  // A connection to a machine: to whom, and what came of it.
  virtual void connected(std::string_view to, std::string_view outcome) = 0;
};

// The witness of the task whose coroutine has this executor; nullptr if it has none. Ask in a
// coroutine of the task only.
std::shared_ptr<CallTracer> tracer_of(const Executor& executor);

// From now on, until it is gone, `witness` is told of what the task does. Does nothing in a task
// that no TaskScope has spawned.
void set_tracer(const Executor& executor, std::weak_ptr<CallTracer> tracer);

}  // namespace nodepool::async
