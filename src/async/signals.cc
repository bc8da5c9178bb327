#include "async/signals.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/parking.h"

namespace nodepool::async {

namespace asio = boost::asio;

struct Signals::Set {
  explicit Set(const Executor& executor) : signals(executor) {}
  asio::signal_set signals;
};

Signals::Signals(const Executor& executor, std::initializer_list<int> numbers)
    : set_(std::make_unique<Set>(executor)) {
  for (const int number : numbers) set_->signals.add(number);
}

Signals::~Signals() = default;

Task<int> Signals::next() {
  co_await throw_if_cancelled();
  const auto [error, number] =
      co_await set_->signals.async_wait(asio::as_tuple(asio::use_awaitable));
  if (error) {
    co_await throw_if_cancelled();
    throw boost::system::system_error(error, "waiting for a signal");
  }
  co_return number;
}

}  // namespace nodepool::async
