#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace nodepool::drivers::libvirt {

// Makes blocking calls, one at a time, on a thread of its own with a state of its own, such as a
// connection. A call that has not returned by its deadline is abandoned with thread and state:
// its result is dropped, and the next call gets new ones. Nothing waits for it, not even the end of
// the process. Calls own all they use.
template <typename State>
class GuardedThread {
 public:
  using Clock = std::chrono::steady_clock;

  // At most so many calls are abandoned at a time.
  static constexpr int kMaxLeft = 2;

  // Thrown when no call was made, because kMaxLeft calls have not returned; and when the call has
  // not returned by its deadline.
  struct Stuck {};
  struct TimedOut {};

  // `make` makes the state of a thread, on that thread.
  explicit GuardedThread(std::function<std::shared_ptr<State>()> make) : make_(std::move(make)) {}
  ~GuardedThread() {
    if (worker_) worker_->leave();
  }
  GuardedThread(const GuardedThread&) = delete;
  GuardedThread& operator=(const GuardedThread&) = delete;

  // Returns the result of the call, or throws what it throws. Thread-safe.
  template <typename T>
  T run(Clock::duration deadline, std::function<T(State&)> call) {
    const std::lock_guard lock(mutex_);
    if (*left_ >= kMaxLeft) throw Stuck();
    if (!worker_) worker_ = start();
    const auto task = std::make_shared<std::packaged_task<T(State&)>>(std::move(call));
    std::future<T> result = task->get_future();
    worker_->give([task](State& state) { (*task)(state); });
    if (result.wait_for(deadline) == std::future_status::ready) return result.get();
    ++*left_;
    worker_->at_end = [left = left_] { --*left; };
    std::exchange(worker_, nullptr)->leave();
    throw TimedOut();
  }

 private:
  // Shared by the thread and this object.
  struct Worker {
    void give(std::function<void(State&)> next) {
      const std::lock_guard lock(mutex);
      job = std::move(next);
      changed.notify_one();
    }

    void leave() {
      const std::lock_guard lock(mutex);
      is_left = true;
      changed.notify_one();
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::function<void(State&)> job;  // empty: none
    std::function<void()> at_end;     // set before it is left
    bool is_left = false;
  };

  static void serve(Worker& worker, State& state) {
    while (true) {
      std::unique_lock lock(worker.mutex);
      worker.changed.wait(lock, [&worker] { return worker.job || worker.is_left; });
      if (worker.is_left) return;
      const std::function<void(State&)> job = std::exchange(worker.job, nullptr);
      lock.unlock();
      job(state);
    }
  }

  std::shared_ptr<Worker> start() {
    auto worker = std::make_shared<Worker>();
    std::thread([worker, make = make_] {
      const std::shared_ptr<State> state = make();
      serve(*worker, *state);
      if (worker->at_end) worker->at_end();
    }).detach();
    return worker;
  }

  std::function<std::shared_ptr<State>()> make_;
  std::mutex mutex_;  // held during a call
  std::shared_ptr<std::atomic<int>> left_ = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<Worker> worker_;
};

}  // namespace nodepool::drivers::libvirt
