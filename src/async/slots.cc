#include "async/slots.h"

#include <list>
#include <optional>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"

namespace nodepool::async {

struct Slots::State {
  std::int64_t count = 0;
  std::int64_t free = 0;  // negative: more are held than there are
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
  ++state_->free;
  pass_on(state_);
}

Slots::Slots(std::size_t count) : state_(std::make_shared<State>()) {
  resize(count);
}

void Slots::resize(std::size_t count) {
  const auto now = static_cast<std::int64_t>(count);
  state_->free += now - std::exchange(state_->count, now);
  pass_on(state_);
}

// Gives free slots to the waiting tasks.
void Slots::pass_on(const std::shared_ptr<State>& state) {
  while (state->free > 0 && !state->waiting.empty()) {
    --state->free;
    Waiter* next = state->waiting.front();
    state->waiting.pop_front();
    next->hold.emplace(state);
    next->task.wake();
  }
}

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
