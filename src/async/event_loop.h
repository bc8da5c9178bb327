#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "async/task.h"

namespace nodepool::async {

// The loop of one thread that runs tasks.
class EventLoop {
 public:
  EventLoop();
  // As abandon().
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  Executor executor();

  // Tears down what is still suspended: the frames of those tasks are destroyed where they stand,
  // as if the process had died there. For owners of what these frames refer to, before that goes.
  // Nothing runs on the loop afterwards.
  void abandon();

  // Runs the loop until `task` has ended and returns its result, or throws what it threw. Other
  // tasks run meanwhile; those still suspended afterwards stay so until the next run() or poll().
  void run(Task<> task);

  template <typename T>
  T run(Task<T> task) {
    std::optional<T> result;
    auto keep = [](Task<T> inner, std::optional<T>& out) -> Task<> {
      out.emplace(co_await std::move(inner));
    };
    Task<> keeping = keep(std::move(task), result);
    run(std::move(keeping));
    return std::move(*result);
  }

  // Runs everything that can run now, without waiting. Returns whether anything ran.
  bool poll() { return poll(std::numeric_limits<std::size_t>::max()) > 0; }

  // The same, but no more than `most` continuations of tasks. Returns how many ran.
  std::size_t poll(std::size_t most);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodepool::async
