#include "async/outcome.h"

#include <utility>

#include <boost/asio/this_coro.hpp>

namespace nodepool::async {

Task<> keep_outcome(Task<> task, std::exception_ptr& failure) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  try {
    co_await std::move(task);
  } catch (...) {
    failure = std::current_exception();
  }
}

}  // namespace nodepool::async
