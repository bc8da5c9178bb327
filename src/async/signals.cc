#include "async/signals.h"

#include <csignal>
#include <exception>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/outcome.h"
#include "async/parking.h"

namespace nodepool::async {

namespace asio = boost::asio;

namespace {

Task<> listen(Signals& signals, std::optional<int>& received) {
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    received = co_await signals.next();
  } catch (const Cancelled&) {
    // The work has ended first.
  }
}

bool is_ignored(int number) {
  struct sigaction present{};
  return ::sigaction(number, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

}  // namespace

struct Signals::Set {
  explicit Set(const Executor& executor) : signals(executor) {}
  asio::signal_set signals;
};

Signals::Signals(const Executor& executor, const std::vector<int>& numbers)
    : set_(std::make_unique<Set>(executor)) {
  for (const int number : numbers) set_->signals.add(number);
}

Signals::~Signals() = default;

Task<int> Signals::next() {
  co_await throw_if_cancelled();
  const WaitsFor waits(co_await asio::this_coro::executor, "signal");
  const auto [error, number] =
      co_await set_->signals.async_wait(asio::as_tuple(asio::use_awaitable));
  if (error) {
    co_await throw_if_cancelled();
    throw boost::system::system_error(error, "waiting for a signal");
  }
  co_return number;
}

Task<std::optional<int>> Signals::until_next(Task<> work) {
  using asio::experimental::awaitable_operators::operator||;
  co_await throw_if_cancelled();
  std::exception_ptr failure;
  std::optional<int> received;
  Task<> working = keep_outcome(std::move(work), failure);
  Task<> listening = listen(*this, received);
  co_await (std::move(working) || std::move(listening));
  if (failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const Cancelled&) {
      if (!received) throw;
    }
  }
  co_return received;
}

std::vector<int> unless_ignored(std::vector<int> numbers) {
  std::erase_if(numbers, [](int number) { return number != SIGTERM && is_ignored(number); });
  return numbers;
}

}  // namespace nodepool::async
