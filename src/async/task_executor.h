#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

namespace nodepool::async {

class TaskRecord;

// An executor of the event loop (`Inner`: Asio's) with the task that it runs, so that a wait can
// find its task through the coroutine's executor. Fits into Asio's any_io_executor without an
// allocation.
template <typename Inner>
class TaskExecutor {
 public:
  TaskExecutor(const Inner& inner, TaskRecord* task) noexcept : inner_(inner), task_(task) {}

  // Valid in the coroutines of the task only, because posted handlers may outlive it.
  TaskRecord* task() const noexcept { return task_; }

  template <typename Property>
    requires(boost::asio::can_query_v<const Inner&, Property>)
  decltype(auto) query(const Property& property) const
      noexcept(boost::asio::is_nothrow_query_v<const Inner&, Property>) {
    return boost::asio::query(inner_, property);
  }

  template <typename Property>
    requires(boost::asio::can_require_v<const Inner&, Property>)
  auto require(const Property& property) const noexcept {
    return TaskExecutor<std::decay_t<decltype(boost::asio::require(inner_, property))>>(
        boost::asio::require(inner_, property), task_);
  }

  template <typename Function>
  void execute(Function&& function) const {
    inner_.execute(std::forward<Function>(function));
  }

  friend bool operator==(const TaskExecutor& a, const TaskExecutor& b) noexcept {
    return a.task_ == b.task_ && a.inner_ == b.inner_;
  }

 private:
  Inner inner_;
  TaskRecord* task_;
};

}  // namespace nodepool::async
