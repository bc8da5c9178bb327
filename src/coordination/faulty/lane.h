#pragma once

#include <functional>
#include <memory>

#include "async/runtime.h"
#include "async/task_scope.h"

namespace nodepool::coordination::faulty {

// One direction of a slow link: what is sent arrives in order, each after its delay or together
// with what was sent before it.
class Lane {
 public:
  explicit Lane(const async::Runtime& runtime);
  // Closes the lane.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Calls `action` at its turn: at once if it need not wait.
  void send(async::Duration delay, std::function<void()> action);

  // Returns at its turn. A cancellation does not end the wait.
  async::Task<> pass(async::Duration delay);

  // From now on nothing arrives: not what is under way, nor what is sent later. Tasks in pass()
  // stay there.
  void close();

 private:
  struct State;

  static async::Task<> deliver(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
  async::TaskScope scope_;
};

}  // namespace nodepool::coordination::faulty
