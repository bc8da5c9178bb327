#include "async/task_scope.h"

#include <list>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/parking.h"
#include "async/task_record.h"

namespace nodepool::async {

namespace asio = boost::asio;

// Shared with the completion handlers, which may outlive the scope if an event loop is destroyed
// with running tasks.
struct TaskScope::State {
  struct Running {
    Running(const Runtime& runtime, std::string name) : record(runtime, std::move(name)) {}

    TaskRecord record;
    asio::cancellation_signal cancellation;
  };

  Runtime runtime;
  ErrorHandler on_error;
  bool cancelled = false;
  std::list<Running> running;
  std::vector<ParkedTask*> joining;

  void emit_cancellation() {
    // A task may end and leave the list while its signal is emitted.
    for (auto task = running.begin(); task != running.end();) {
      const auto next = std::next(task);
      task->cancellation.emit(asio::cancellation_type::terminal);
      task = next;
    }
  }

  void finished(std::list<Running>::iterator task, const std::exception_ptr& failure) {
    const std::string name = task->record.name();
    running.erase(task);
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const Cancelled&) {
    } catch (const std::exception& error) {
      on_error(name, error.what());
    }
    if (!running.empty()) return;
    for (ParkedTask* task_in_join : joining) task_in_join->wake();
  }
};

// A task that waits for the end of the others.
struct TaskScope::Joining {
  Joining(State& of, const Executor& executor)
      : state(of), waits(executor, "end of own tasks"), task(executor) {
    state.joining.push_back(&task);
  }
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;
  ~Joining() { std::erase(state.joining, &task); }

  State& state;
  WaitsFor waits;
  ParkedTask task;
};

namespace {

Task<> run(Task<> task) {
  // Only waits throw on cancellation (see Cancelled), not every co_await.
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::post(asio::use_awaitable);
  co_await throw_if_cancelled();
  co_await std::move(task);
}

}  // namespace

TaskScope::TaskScope(const Runtime& runtime, ErrorHandler on_error)
    : state_(std::make_shared<State>(runtime, std::move(on_error))) {}

TaskScope::~TaskScope() = default;

void TaskScope::spawn(std::string name, Task<> task) {
  if (state_->cancelled) return;
  const auto entry =
      state_->running.emplace(state_->running.end(), state_->runtime, std::move(name));
  asio::co_spawn(
      entry->record.executor(), run(std::move(task)),
      asio::bind_cancellation_slot(entry->cancellation.slot(),
                                   [state = state_, entry](const std::exception_ptr& failure) {
                                     state->finished(entry, failure);
                                   }));
}

void TaskScope::cancel() {
  if (std::exchange(state_->cancelled, true)) return;
  // Emit on the loop: otherwise Asio would keep a pointer to the signal of a task that may have
  // ended before the loop runs again.
  asio::post(state_->runtime.executor, [state = state_] { state->emit_cancellation(); });
}

Task<> TaskScope::join() {
  const auto state = state_;
  if (state->running.empty()) co_return;
  const Executor executor = co_await asio::this_coro::executor;
  Joining joining(*state, executor);
  co_await joining.task.park_through_cancellation();
}

Task<> TaskScope::stop() {
  cancel();
  co_await join();
}

Task<> TaskScope::join_or_stop() {
  const auto state = state_;
  if (state->running.empty()) co_return;
  const Executor executor = co_await asio::this_coro::executor;
  Joining joining(*state, executor);
  bool is_cancelled = false;
  try {
    co_await joining.task.park();
  } catch (const Cancelled&) {
    is_cancelled = true;
  }
  if (!is_cancelled) co_return;
  cancel();
  co_await joining.task.park_through_cancellation();
  throw Cancelled();
}

bool TaskScope::empty() const {
  return state_->running.empty();
}

}  // namespace nodepool::async
