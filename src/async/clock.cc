#include "async/clock.h"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"

namespace nodepool::async {

namespace asio = boost::asio;

Clock::TimePoint SystemClock::now() const {
  return TimePoint(std::chrono::steady_clock::now().time_since_epoch());
}

double SystemClock::wall_seconds() const {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since_epoch).count();
}

Task<> SystemClock::sleep_until(TimePoint when) {
  co_await throw_if_cancelled();
  const Executor executor = co_await asio::this_coro::executor;
  const WaitsFor waits(executor, "sleep", {}, when);
  asio::steady_timer timer(executor,
                           std::chrono::steady_clock::time_point(when.time_since_epoch()));
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_await throw_if_cancelled();
}

// `task` is in the sleeping task's frame, and null once that has left sleep_until().
struct VirtualClock::Sleeper {
  TimePoint when;
  std::uint64_t ticket;
  ParkedTask* task;
};

bool VirtualClock::Later::operator()(const std::shared_ptr<Sleeper>& a,
                                     const std::shared_ptr<Sleeper>& b) const {
  return std::tie(a->when, a->ticket) > std::tie(b->when, b->ticket);
}

double VirtualClock::wall_seconds() const {
  return wall_offset_ + std::chrono::duration<double>(now_.time_since_epoch()).count();
}

Task<> VirtualClock::sleep_until(TimePoint when) {
  const Executor executor = co_await asio::this_coro::executor;
  const WaitsFor waits(executor, "sleep", {}, when);
  ParkedTask task(executor);
  struct Registration {
    std::shared_ptr<Sleeper> sleeper;
    ~Registration() { sleeper->task = nullptr; }
  };
  const Registration registration{std::make_shared<Sleeper>(when, next_ticket_++, &task)};
  if (when <= now_) {
    task.wake();
  } else {
    sleepers_.push(registration.sleeper);
  }
  co_await task.park();
}

Clock::TimePoint VirtualClock::next_wakeup() const {
  while (!sleepers_.empty() && sleepers_.top()->task == nullptr) sleepers_.pop();
  return sleepers_.empty() ? TimePoint::max() : sleepers_.top()->when;
}

void VirtualClock::advance_to(TimePoint when) {
  now_ = std::max(now_, when);
  while (next_wakeup() <= now_) {
    sleepers_.top()->task->wake();
    sleepers_.pop();
  }
}

}  // namespace nodepool::async
