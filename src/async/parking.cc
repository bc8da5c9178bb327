#include "async/parking.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace nodepool::async {

namespace asio = boost::asio;

ParkedTask::ParkedTask(const Executor& executor)
    : timer_(executor, asio::steady_timer::time_point::max()) {}

void ParkedTask::wake() {
  woken_ = true;
  timer_.cancel();
}

Task<> ParkedTask::wait_once() {
  co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
}

Task<> ParkedTask::park() {
  co_await throw_if_cancelled();
  if (!woken_) co_await wait_once();
  co_await throw_if_cancelled();
}

Task<> ParkedTask::park_through_cancellation() {
  while (!woken_) co_await wait_once();
}

Task<> throw_if_cancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) throw Cancelled();
}

}  // namespace nodepool::async
