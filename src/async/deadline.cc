#include "async/deadline.h"

#include <exception>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include "async/live_tasks.h"
#include "async/outcome.h"
#include "async/parking.h"

namespace nodepool::async {

namespace {

Task<> sleep_apart(Clock& clock, Clock::TimePoint when) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  co_await clock.sleep_until(when);
}

}  // namespace

Task<> with_deadline(Clock& clock, Clock::TimePoint when, Task<> task, std::string what) {
  using boost::asio::experimental::awaitable_operators::operator||;
  co_await throw_if_cancelled();
  const WaitsFor waits(co_await boost::asio::this_coro::executor, "deadline:", what, when);
  std::exception_ptr failure;
  Task<> operation = keep_outcome(std::move(task), failure);
  Task<> timer = sleep_apart(clock, when);
  const auto first = co_await (std::move(operation) || std::move(timer));
  if (!failure) co_return;
  if (first.index() == 0) std::rethrow_exception(failure);
  co_await throw_if_cancelled();
  try {
    std::rethrow_exception(failure);
  } catch (const Cancelled&) {
    throw DeadlineExceeded("no answer in time: " + what);
  }
}

}  // namespace nodepool::async
