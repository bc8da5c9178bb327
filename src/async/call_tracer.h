#pragma once

#include <memory>
#include <string_view>

#include "async/task.h"

namespace nodepool::async {

// Receives a task's interactions with other systems from the modules that make them. So the code
// that runs a task can log, publish or time them, and the code in between need not pass them on.
// Strings are valid during the call only. By default, it ignores what it receives.
class CallTracer {
 public:
  // One attempt at an API call. Contains no secrets.
  struct Call {
    std::string_view name = {};    // e.g. "compute: create server"
    std::string_view method = {};  // "POST"; empty for a client of another kind
    std::string_view path = {};    // without host and query
    int status = 0;                // 0: no response
    std::string_view id = {};      // the server's id of the request; may be empty
    Duration taken{};
  };

  virtual ~CallTracer() = default;

  // An API call has waited for its turn, and is sent now. `is_retry`: it has failed before.
  virtual void sending(bool /*is_retry*/) {}
  virtual void called(const Call& /*call*/) {}
  // The task has used a list that several tasks share, such as all machines.
  virtual void polled(std::string_view /*list*/) {}
  // Such a list could not be read. The reason contains no secrets.
  virtual void poll_failed(std::string_view /*list*/, std::string_view /*reason*/) {}
  // A connection to a machine: the target and the outcome.
  virtual void connected(std::string_view /*to*/, std::string_view /*outcome*/) {}
};

// The tracer of the task whose coroutine has this executor; nullptr if it has none. Call it in a
// coroutine of the task only.
std::shared_ptr<CallTracer> tracer_of(const Executor& executor);

// Sets the tracer of the task, which is used while it exists. Does nothing in a task that was not
// spawned by a TaskScope.
void set_tracer(const Executor& executor, std::weak_ptr<CallTracer> tracer);

}  // namespace nodepool::async
