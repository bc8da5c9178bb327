#include "async/event_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

namespace nodepool::async {

namespace asio = boost::asio;

namespace {

// A service whose shutdown can run before its destruction.
class Context : public asio::io_context {
 public:
  using asio::io_context::shutdown;
};

}  // namespace

struct EventLoop::Impl {
  // One thread runs the loop; other threads may post to it.
  Context io;
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::abandon() {
  impl_->io.shutdown();
}

Executor EventLoop::executor() {
  return impl_->io.get_executor();
}

void EventLoop::run(Task<> task) {
  auto apart = [](Task<> inner) -> Task<> {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await std::move(inner);
  };
  bool ended = false;
  std::exception_ptr failure;
  asio::co_spawn(impl_->io, apart(std::move(task)), [&](std::exception_ptr thrown) {
    ended = true;
    failure = std::move(thrown);
  });
  const auto guard = asio::make_work_guard(impl_->io);
  impl_->io.restart();
  while (!ended) impl_->io.run_one();
  if (failure) std::rethrow_exception(failure);
}

std::size_t EventLoop::poll(std::size_t most) {
  impl_->io.restart();
  std::size_t ran = 0;
  while (ran < most && impl_->io.poll_one() > 0) ++ran;
  return ran;
}

}  // namespace nodepool::async
