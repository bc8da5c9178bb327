#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

  // More than are ever taken.
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  explicit Slots(std::size_t count);

  // Changes their number. If more are held already, these remain held.
  void resize(std::size_t count);

  // Waits for a slot. Throws Cancelled.
  Task<Hold> take();

 private:
  struct Waiter;

  static void pass_on(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace nodepool::async
