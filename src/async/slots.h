#pragma once

#include <cstddef>
#include <memory>

#include "async/task.h"

namespace nodepool::async {

// Lets a limited number of tasks do something at the same time; the others wait in the order they
// came.
class Slots {
  struct State;

 public:
  // The right to go on. Its end lets the next in line go on.
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

  // Returns when it is the caller's turn. Throws Cancelled.
  Task<Hold> take();

 private:
  struct Waiter;

  std::shared_ptr<State> state_;
};

}  // namespace nodepool::async
