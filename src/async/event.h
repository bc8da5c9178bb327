#pragma once

#include <memory>
#include <string_view>

#include "async/clock.h"
#include "async/task.h"

namespace nodepool::async {

// Wakes tasks that wait for something to have happened.
//
// The event remembers: a set() that nobody waits for lets the next wait() return at once, and any
// number of set() before a wait() count as one. That makes the usual worker loop free of races:
//
//   while (true) { co_await changed.wait(); /* look at everything that may have changed */ }
class Event {
 public:
  // `what` names what has happened when the event is set, for stack dumps; a literal.
  explicit Event(std::string_view what);
  Event() : Event("something changed") {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Wakes all tasks that wait now, or the next one to wait.
  void set();

  // Returns when the event has been set since the last wait() returned. Throws Cancelled.
  Task<> wait();

  // As wait(), but gives up at `when`. Returns whether the event was set.
  Task<bool> wait_until(Clock& clock, Clock::TimePoint when);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace nodepool::async
