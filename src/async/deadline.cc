#include "async/deadline.h"

#include <exception>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include "async/live_tasks.h"
#include "async/outcome.h"
#include "async/parking.h"

namespace nodepool::async {

namespace {

Task<> run_apart(Task<> limit) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  co_await std::move(limit);
}

}  // namespace

Task<> with_deadline(Clock& clock, Clock::TimePoint when, Task<> task, std::string what) {
  co_await throw_if_cancelled();
  const WaitsFor waits(co_await boost::asio::this_coro::executor, "deadline:", what, when);
  Task<> limited = with_limit(clock.sleep_until(when), std::move(task), what);
  co_await std::move(limited);
}

Task<> with_limit(Task<> limit, Task<> task, std::string what) {
  using boost::asio::experimental::awaitable_operators::operator||;
  co_await throw_if_cancelled();
  std::exception_ptr failure;
  Task<> operation = keep_outcome(std::move(task), failure);
  Task<> timer = run_apart(std::move(limit));
  const auto first = co_await (std::move(operation) || std::move(timer));
  if (!failure) co_return;
  if (first.index() == 0) std::rethrow_exception(failure);
  co_await throw_if_cancelled();
  try {
    std::rethrow_exception(failure);
  } catch (const Cancelled&) {
    throw DeadlineExceeded("timed out: " + what);
  }
}

}  // namespace nodepool::async
