#include "async/thread_pool.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace nodepool::async {

namespace asio = boost::asio;

struct ThreadPool::Threads {
  explicit Threads(std::size_t count) : pool(count) {}
  asio::thread_pool pool;
};

ThreadPool::ThreadPool(std::size_t threads) : count_(threads) {}

ThreadPool::~ThreadPool() {
  if (threads_) threads_->pool.join();
}

Task<> ThreadPool::run_job(std::function<void()> job) {
  if (!threads_) threads_ = std::make_unique<Threads>(count_);
  auto start = [](auto handler, asio::thread_pool& pool, std::function<void()> work) {
    auto loop = asio::get_associated_executor(handler);
    auto guard = asio::make_work_guard(loop);
    asio::post(pool, [handler = std::move(handler), guard = std::move(guard), loop,
                      work = std::move(work)]() mutable {
      work();
      asio::post(loop, std::move(handler));
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
      std::move(start), asio::use_awaitable, std::ref(threads_->pool), std::move(job));
}

}  // namespace nodepool::async
