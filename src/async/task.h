#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace nodepool::async {

// A coroutine that produces a T. It runs when it is awaited or when a TaskScope spawns it; it is
// never detached. All tasks of a process run on the thread of its event loop, so shared state needs
// no locks: it changes only where a task awaits.
template <typename T = void>
using Task = boost::asio::awaitable<T>;

// The event loop that runs a task.
using Executor = boost::asio::any_io_executor;

using Duration = std::chrono::nanoseconds;

// Thrown by a wait (Clock::sleep_until, Event::wait, …) of a task whose owner cancelled it.
//
// Only waits are cancellation points. An operation with side effects (a store's write, a call to a
// cloud) has its own deadline and always completes, so a cancelled task can release its resources
// with the same code as any other.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

// Thrown by with_deadline at the deadline.
class DeadlineExceeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nodepool::async
