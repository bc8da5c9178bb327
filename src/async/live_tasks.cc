#include "async/live_tasks.h"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>

#include "async/task_executor.h"
#include "async/task_record.h"

namespace nodepool::async {

namespace asio = boost::asio;

namespace {

using LoopExecutor = asio::io_context::executor_type;
using Records = boost::intrusive::list<TaskRecord, boost::intrusive::constant_time_size<false>>;

// The tasks of one event loop: an Asio service, created on the first use.
class Registry final : public asio::execution_context::service {
 public:
  static inline asio::execution_context::id id;

  explicit Registry(asio::execution_context& loop) : service(loop) {}

  static Registry& of(const Executor& executor) {
    return asio::use_service<Registry>(asio::query(executor, asio::execution::context));
  }

  Records records;

 private:
  void shutdown() override {}
};

}  // namespace

TaskRecord::TaskRecord(const Runtime& runtime, std::string name)
    : loop_(runtime.executor), clock_(runtime.clock), name_(std::move(name)), since_(clock_.now()) {
  Registry::of(loop_).records.push_back(*this);
}

Executor TaskRecord::executor() {
  const auto* loop = loop_.target<LoopExecutor>();
  return loop == nullptr ? loop_ : Executor(TaskExecutor<LoopExecutor>(*loop, this));
}

LiveTask TaskRecord::describe() const {
  const Clock::TimePoint now = clock_.now();
  LiveTask task{name_, now - since_, {}};
  std::optional<Clock::TimePoint> enclosing;
  for (const WaitsFor& wait : waits_) {
    // Omit the sleep that implements a deadline.
    if (wait.until() && wait.until() == enclosing) continue;
    if (wait.until()) enclosing = wait.until();
    task.waits.push_back(wait.describe(now));
  }
  return task;
}

WaitsFor::WaitsFor(const Executor& executor, std::string_view what, std::string_view detail,
                   std::optional<Clock::TimePoint> until)
    : what_(what), detail_(detail), until_(until) {
  const auto* own = executor.target<TaskExecutor<LoopExecutor>>();
  if (own == nullptr) return;
  since_ = own->task()->now();
  own->task()->add(*this);
}

LiveTask::Wait WaitsFor::describe(Clock::TimePoint now) const {
  LiveTask::Wait wait{std::string(what_), now - since_, std::nullopt};
  if (!detail_.empty()) wait.what.append(" ").append(detail_);
  if (until_ && *until_ != Clock::TimePoint::max()) wait.left = *until_ - now;
  return wait;
}

std::shared_ptr<CallTracer> tracer_of(const Executor& executor) {
  const auto* own = executor.target<TaskExecutor<LoopExecutor>>();
  return own == nullptr ? nullptr : own->task()->tracer();
}

void set_tracer(const Executor& executor, std::weak_ptr<CallTracer> tracer) {
  const auto* own = executor.target<TaskExecutor<LoopExecutor>>();
  if (own != nullptr) own->task()->set_tracer(std::move(tracer));
}

std::vector<LiveTask> live_tasks(const Executor& executor) {
  std::vector<LiveTask> tasks;
  for (const TaskRecord& record : Registry::of(executor).records) {
    tasks.push_back(record.describe());
  }
  return tasks;
}

}  // namespace nodepool::async
