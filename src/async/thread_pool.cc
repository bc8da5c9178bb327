#include "async/thread_pool.h"

#include <pthread.h>

#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"

namespace nodepool::async {

namespace asio = boost::asio;

struct ThreadPool::Threads {
  Threads(std::size_t count, const std::string& name) {
    const std::string comm = name.substr(0, 15);  // Linux's limit
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([this, comm] {
        ::pthread_setname_np(::pthread_self(), comm.c_str());
        calls.run();
      });
    }
  }

  asio::io_context calls;
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(calls);
  std::vector<std::jthread> threads;  // joined first
};

ThreadPool::ThreadPool(std::size_t threads, const std::string& name)
    : ThreadPool(threads, name, std::make_shared<std::size_t>(0)) {}

ThreadPool::ThreadPool(std::size_t threads, const std::string& name,
                       std::shared_ptr<std::size_t> pending)
    : count_(threads), name_(name), pending_(std::move(pending)) {}

ThreadPool::~ThreadPool() {
  if (threads_) threads_->guard.reset();
}

ThreadPool ThreadPool::beside(std::size_t threads, const std::string& name) const {
  return {count_ == 0 ? 0 : threads, name, pending_};
}

void ThreadPool::start(const Executor& loop, std::move_only_function<void()> call,
                       std::move_only_function<void()> on_return) {
  ++*pending_;
  auto finish = [pending = pending_, on_return = std::move(on_return)]() mutable {
    --*pending;
    on_return();
  };
  if (count_ == 0) {
    asio::post(loop, [call = std::move(call), finish = std::move(finish)]() mutable {
      call();
      finish();
    });
    return;
  }
  if (!threads_) threads_ = std::make_unique<Threads>(count_, name_);
  asio::post(threads_->calls, [guard = asio::make_work_guard(loop), loop, call = std::move(call),
                               finish = std::move(finish)]() mutable {
    call();
    asio::post(loop, std::move(finish));
  });
}

Task<> ThreadPool::run_job(std::string_view what, std::function<void()> job) {
  const WaitsFor waits(co_await asio::this_coro::executor, "thread:", what);
  auto initiate = [](auto handler, ThreadPool& pool, std::function<void()> work) {
    const Executor loop = asio::get_associated_executor(handler);
    pool.start(loop, std::move(work), std::move(handler));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
      std::move(initiate), asio::use_awaitable, std::ref(*this), std::move(job));
}

}  // namespace nodepool::async
