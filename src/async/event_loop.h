#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "async/task.h"

namespace nodepool::async {

// Runs tasks on one thread.
class EventLoop {
 public:
  EventLoop();
  // Like abandon().
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  Executor executor();

  // Destroys the frames of suspended tasks, as if the process had died. To be called before the
  // objects that these frames refer to are destroyed. Nothing runs on the loop afterwards.
  void abandon();

  // Runs the loop until `task` ends; returns its result or throws what it threw. Other tasks run
  // meanwhile; those still suspended afterwards resume in the next run() or poll().
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

  // Runs everything that is ready, without waiting. Returns whether anything ran.
  bool poll() { return poll(std::numeric_limits<std::size_t>::max()) > 0; }

  // The same, at most `most` continuations of tasks. Returns how many ran.
  std::size_t poll(std::size_t most);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodepool::async
