#pragma once

#include <memory>
#include <string_view>

#include "async/clock.h"
#include "async/task.h"

namespace nodepool::async {

// Wakes tasks that wait for a condition.
//
// A set() without a waiting task lets the next wait() return at once; several set() before a wait()
// count as one. So this worker loop has no races:
//
//   while (true) { co_await changed.wait(); /* check everything that may have changed */ }
class Event {
 public:
  // `what` names the event in stack dumps; a literal.
  explicit Event(std::string_view what);
  Event() : Event("something changed") {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Wakes all waiting tasks, or else the next one to wait.
  void set();

  // Returns when the event has been set since the last return of wait(). Throws Cancelled.
  Task<> wait();

  // Like wait(), at most until `when`. Returns whether the event was set.
  Task<bool> wait_until(Clock& clock, Clock::TimePoint when);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace nodepool::async
