#include "coordination/faulty/lane.h"

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "async/event.h"
#include "async/parking.h"

namespace nodepool::coordination::faulty {

using async::Clock;
using async::Task;

struct Lane::State {
  struct Item {
    Clock::TimePoint due;
    std::function<void()> action;
  };

  Clock& clock;
  std::deque<Item> queue = {};
  std::size_t under_way = 0;  // sent, but not delivered: nothing may overtake them
  bool started = false;
  bool closed = false;
  async::Event arrived = {};

  bool may_go_at_once(async::Duration delay) const {
    return delay == async::Duration::zero() && under_way == 0 && !closed;
  }

  void enqueue(async::Duration delay, std::function<void()> action) {
    if (closed) return;
    ++under_way;
    queue.push_back({clock.now() + delay, std::move(action)});
    arrived.set();
  }
};

namespace {

// A handler has thrown: a programming error, rethrown to the runner of the loop.
void pass_on(const std::string& name, const std::string& error) {
  throw std::logic_error(name + ": " + error);
}

}  // namespace

Lane::Lane(const async::Runtime& runtime)
    : state_(std::make_shared<State>(runtime.clock)), scope_(runtime, pass_on) {}

Lane::~Lane() {
  close();
}

void Lane::send(async::Duration delay, std::function<void()> action) {
  if (state_->may_go_at_once(delay)) {
    action();
    return;
  }
  if (!std::exchange(state_->started, true)) scope_.spawn("lane", deliver(state_));
  state_->enqueue(delay, std::move(action));
}

Task<> Lane::pass(async::Duration delay) {
  const auto state = state_;
  if (state->may_go_at_once(delay)) co_return;
  async::ParkedTask task(co_await boost::asio::this_coro::executor);
  ++state->under_way;  // until it runs again, which is after its wake-up
  send(delay, [&task] { task.wake(); });
  co_await task.park_through_cancellation();
  --state->under_way;
}

void Lane::close() {
  if (std::exchange(state_->closed, true)) return;
  state_->queue.clear();
  scope_.cancel();
}

// Owns its data: it may outlive the lane for a moment.
Task<> Lane::deliver(std::shared_ptr<State> state) {
  while (!state->closed) {
    if (state->queue.empty()) {
      co_await state->arrived.wait();
      continue;
    }
    co_await state->clock.sleep_until(state->queue.front().due);
    if (state->closed) co_return;
    const std::function<void()> action = std::move(state->queue.front().action);
    state->queue.pop_front();
    --state->under_way;
    action();
  }
}

}  // namespace nodepool::coordination::faulty
