#pragma once

#include <functional>
#include <memory>

#include "async/runtime.h"
#include "async/task_scope.h"

namespace nodepool::coordination::faulty {

// One direction of a slow link. Messages arrive in order, each after its delay or together with its
// predecessor.
class Lane {
 public:
  explicit Lane(const async::Runtime& runtime);
  // Closes the lane.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Calls `action` on arrival, at once without a delay.
  void send(async::Duration delay, std::function<void()> action);

  // Returns on arrival. Cancellation does not end the wait.
  async::Task<> pass(async::Duration delay);

  // Nothing arrives any more, neither pending nor later messages. Tasks in pass() never return.
  void close();

 private:
  struct State;

  static async::Task<> deliver(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
  async::TaskScope scope_;
};

}  // namespace nodepool::coordination::faulty
