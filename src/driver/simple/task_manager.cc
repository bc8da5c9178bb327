#include "driver/simple/task_manager.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>

#include <boost/asio/this_coro.hpp>

#include "async/call_tracer.h"
#include "async/event.h"
#include "async/live_tasks.h"
#include "async/parking.h"
#include "driver/driver_metrics.h"
#include "telemetry/cloud_call_metrics.h"
#include "telemetry/log_errors.h"

namespace nodepool::driver {

namespace {

async::Duration spacing(double calls_per_second) {
  if (calls_per_second <= 0) return {};
  const std::chrono::duration<double> seconds(1 / calls_per_second);
  return std::chrono::duration_cast<async::Duration>(seconds);
}

double in_seconds(async::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

// A call from its submission to its return.
struct TaskManager::Job {
  Job(const async::Executor& executor, std::string name_in, async::Clock::TimePoint now)
      : name(std::move(name_in)),
        submitted(now),
        tracer(async::tracer_of(executor)),
        caller(executor) {}

  enum class Phase { waiting, running, given_up };

  std::string name;
  std::move_only_function<void()> call;
  async::Clock::TimePoint submitted;
  std::weak_ptr<async::CallTracer> tracer;    // the caller's; this may outlive it
  std::atomic<Phase> phase = Phase::waiting;  // also used on the call's thread
  bool is_abandoned = false;
  std::optional<CloudError> failure;  // why there is no result
  async::ParkedTask caller;
  async::Event returned{"a blocking call returns"};
};

struct TaskManager::Progress {
  std::size_t abandoned = 0;
  async::Event changed{"a call may begin"};
};

TaskManager::TaskManager(const async::Runtime& runtime, async::ThreadPool& threads,
                         std::string provider, Options options, telemetry::Metrics metrics,
                         telemetry::Logger log)
    : runtime_(runtime),
      threads_(threads),
      provider_(std::move(provider)),
      options_(options),
      metrics_(std::move(metrics)),
      log_(std::move(log)),
      progress_(std::make_shared<Progress>()),
      scope_(runtime, telemetry::log_errors(log_)) {}

TaskManager::~TaskManager() = default;

void TaskManager::start() {
  scope_.spawn("blocking calls of " + provider_, serve());
}

Task<> TaskManager::stop() {
  stopping_ = true;
  for (const auto& job : queue_) {
    job->failure.emplace(CloudError::Kind::transient,
                         job->name + ": provider " + provider_ + " is stopping");
    job->caller.wake();
  }
  queue_.clear();
  report_queue();
  progress_->changed.set();
  co_await scope_.join();
}

Task<> TaskManager::perform(std::string name, std::move_only_function<void()> call) {
  if (stopping_) {
    throw CloudError(CloudError::Kind::transient,
                     name + ": provider " + provider_ + " is stopping");
  }
  const async::Executor executor = co_await boost::asio::this_coro::executor;
  const auto job = std::make_shared<Job>(executor, std::move(name), runtime_.clock.now());
  job->call = std::move(call);
  queue_.push_back(job);
  report_queue();
  progress_->changed.set();
  const async::WaitsFor waits(executor, "blocking call:", job->name);
  bool cancelled = false;
  try {
    co_await job->caller.park();
  } catch (const async::Cancelled&) {
    cancelled = true;
  }
  if (cancelled) {
    if (std::erase(queue_, job) > 0) {
      report_queue();
      throw async::Cancelled();
    }
    co_await job->caller.park_through_cancellation();
  }
  const auto tracer = async::tracer_of(executor);
  if (tracer) tracer->called({.name = job->name, .taken = runtime_.clock.now() - job->submitted});
  if (job->failure) throw CloudError(*job->failure);
}

Task<> TaskManager::serve() {
  while (!stopping_) {
    if (queue_.empty() || progress_->abandoned >= kMaxAbandoned) {
      co_await progress_->changed.wait();
    } else if (runtime_.clock.now() < next_start_) {
      co_await progress_->changed.wait_until(runtime_.clock, next_start_);
    } else {
      next_start_ = runtime_.clock.now() + spacing(options_.calls_per_second);
      const std::shared_ptr<Job> job = queue_.front();
      queue_.pop_front();
      report_queue();
      co_await make_call(job);
    }
  }
}

Task<> TaskManager::make_call(std::shared_ptr<Job> job) {
  const async::Clock::TimePoint begun = runtime_.clock.now();
  metrics_.time(telemetry::series<kTaskWaits>(provider_, job->name), begun - job->submitted);
  auto call = [job] {
    auto waiting = Job::Phase::waiting;
    if (job->phase.compare_exchange_strong(waiting, Job::Phase::running)) job->call();
    job->call = {};  // releases what it owns
  };
  auto on_return = [job, progress = progress_, log = log_] {
    if (job->is_abandoned) {
      log.warning("Abandoned call {} has returned", job->name);
      --progress->abandoned;
      progress->changed.set();
    }
    job->returned.set();
  };
  if (const auto tracer = job->tracer.lock()) tracer->sending(false);
  threads_.start(runtime_.executor, std::move(call), std::move(on_return));
  const bool in_time = co_await job->returned.wait_until(runtime_.clock, begun + options_.deadline);
  if (!in_time) abandon(job);
  metrics_.time(telemetry::series<telemetry::kCloudCalls>(provider_, job->name),
                runtime_.clock.now() - begun);
  job->caller.wake();
}

void TaskManager::abandon(const std::shared_ptr<Job>& job) {
  const double seconds = in_seconds(options_.deadline);
  auto waiting = Job::Phase::waiting;
  if (job->phase.compare_exchange_strong(waiting, Job::Phase::given_up)) {
    job->failure.emplace(CloudError::Kind::transient,
                         fmt::format("{}: no free thread within {} s", job->name, seconds));
    return;
  }
  job->is_abandoned = true;
  ++progress_->abandoned;
  metrics_.count(telemetry::series<kTasksAbandoned>(provider_));
  log_.error("Call {} has not returned within {} s: abandoning it", job->name, seconds);
  job->failure.emplace(CloudError::Kind::unknown_outcome,
                       fmt::format("{}: timed out after {} s", job->name, seconds));
}

void TaskManager::report_queue() const {
  metrics_.gauge(telemetry::series<kTaskQueue>(provider_), static_cast<double>(queue_.size()));
}

}  // namespace nodepool::driver
