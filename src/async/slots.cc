#include "async/slots.h"

#include <list>
#include <optional>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"

namespace nodepool::async {

struct Slots::State {
  std::size_t free;
  std::list<Waiter*> waiting;
};

// Lives in the waiting task's frame. A slot that arrives during the task's cancellation is passed
// to the next waiter when the frame is destroyed.
struct Slots::Waiter {
  Waiter(State& slots, const Executor& executor) : state(slots), task(executor) {
    state.waiting.push_back(this);
  }
  ~Waiter() { state.waiting.remove(this); }

  State& state;
  ParkedTask task;
  std::optional<Hold> hold;
};

Slots::Hold::Hold(std::shared_ptr<State> state) : state_(std::move(state)) {}

Slots::Hold::~Hold() {
  if (!state_) return;  // moved from
  if (state_->waiting.empty()) {
    ++state_->free;
    return;
  }
  Waiter* next = state_->waiting.front();
  state_->waiting.pop_front();
  next->hold.emplace(state_);
  next->task.wake();
}

Slots::Slots(std::size_t count) : state_(std::make_shared<State>(count)) {}

Task<Slots::Hold> Slots::take() {
  const auto state = state_;
  if (state->free > 0) {
    --state->free;
    co_return Hold(state);
  }
  const async::Executor executor = co_await boost::asio::this_coro::executor;
  const async::WaitsFor waits(executor, "a free slot");
  Waiter waiter(*state, executor);
  co_await waiter.task.park();
  co_return std::move(*waiter.hold);
}

}  // namespace nodepool::async
