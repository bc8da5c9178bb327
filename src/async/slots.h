#pragma once

#include <cstddef>
#include <memory>

#include "async/task.h"

namespace nodepool::async {

// A semaphore: lets a limited number of tasks run concurrently. The others wait in FIFO order.
class Slots {
  struct State;

 public:
  // An acquired slot. Its destruction passes the slot to the next waiter.
  class Hold {
   public:
    explicit Hold(std::shared_ptr<State> state);
    Hold(Hold&&) = default;
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    std::shared_ptr<State> state_;
  };

  explicit Slots(std::size_t count);

  // Waits for a slot. Throws Cancelled.
  Task<Hold> take();

 private:
  struct Waiter;

  std::shared_ptr<State> state_;
};

}  // namespace nodepool::async
