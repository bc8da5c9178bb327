#include "async/event.h"

#include <vector>

#include <boost/asio/this_coro.hpp>

#include "async/deadline.h"
#include "async/live_tasks.h"
#include "async/parking.h"

namespace nodepool::async {

struct Event::State {
  std::string_view what;
  bool is_set = false;
  std::vector<ParkedTask*> waiting;
};

Event::Event(std::string_view what) : state_(std::make_shared<State>(what)) {}
Event::~Event() = default;

void Event::set() {
  if (state_->waiting.empty()) {
    state_->is_set = true;
    return;
  }
  for (ParkedTask* task : std::exchange(state_->waiting, {})) task->wake();
}

Task<> Event::wait() {
  const auto state = state_;
  const Executor executor = co_await boost::asio::this_coro::executor;
  ParkedTask task(executor);
  if (state->is_set) {
    state->is_set = false;
    task.wake();
    co_await task.park();
    co_return;
  }
  struct Registration {
    State& state;
    ParkedTask* task;
    ~Registration() { std::erase(state.waiting, task); }
  };
  const Registration registration{*state, &task};
  state->waiting.push_back(&task);
  const WaitsFor waits(executor, "event:", state->what);
  co_await task.park();
}

Task<bool> Event::wait_until(Clock& clock, Clock::TimePoint when) {
  try {
    co_await with_deadline(clock, when, wait(), std::string(state_->what));
  } catch (const DeadlineExceeded&) {
    co_return false;
  }
  co_return true;
}

}  // namespace nodepool::async
