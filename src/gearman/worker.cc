#include "gearman/worker.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <boost/asio/post.hpp>

#include "async/event.h"
#include "telemetry/log_errors.h"

namespace nodepool::gearman {

using async::Task;

namespace {

constexpr std::size_t kLongestName = 512;  // GEARMAN_FUNCTION_MAX_SIZE

void require_function_name(const std::string& name) {
  if (name.empty() || name.size() > kLongestName || name.contains('\0')) {
    throw std::invalid_argument(
        "invalid name of a Gearman function (1 to 512 bytes without NUL): '" + name + "'");
  }
}

std::size_t all_jobs(const GearmanWorker::Options& options) {
  std::size_t all = 0;
  for (const auto& [prefix, jobs] : options.jobs) all += jobs;
  return all;
}

// Returns the job to the server unless it is completed.
class RunningJob {
 public:
  explicit RunningJob(std::shared_ptr<Job> job) : job_(std::move(job)) {}
  RunningJob(RunningJob&&) = default;
  RunningJob& operator=(RunningJob&&) = delete;
  ~RunningJob() {
    if (job_) job_->give_back();
  }

  const std::shared_ptr<Job>& job() const { return job_; }
  void end(JobResult result) { std::exchange(job_, nullptr)->end(std::move(result)); }

 private:
  std::shared_ptr<Job> job_;
};

}  // namespace

// Shared by the event loop and the threads.
struct GearmanWorker::Shared {
  Shared(const async::Runtime& runtime, telemetry::Logger logger, Server called, Handler do_job,
         Options chosen)
      : executor(runtime.executor),
        log(std::move(logger)),
        server(std::move(called)),
        handler(std::move(do_job)),
        options(std::move(chosen)),
        jobs(runtime, telemetry::log_errors(log)) {}

  // --- used on the event loop

  void connected();
  void lost(bool was_connected, const std::string& reason);
  void accept(const std::shared_ptr<Job>& job);
  Task<> do_job(RunningJob running_job);

  async::Executor executor;
  telemetry::Logger log;
  Server server;
  Handler handler;
  Options options;
  async::TaskScope jobs;
  std::size_t connections = 0;
  bool reported = false;    // that the server is unreachable
  std::size_t running = 0;  // threads
  async::Event thread_ended{"a Gearman thread ended"};

  // --- used on all threads

  std::mutex mutex;
  std::condition_variable changed;
  Connection::Functions functions;
  std::size_t version = 0;  // of the functions
  bool stopping = false;
};

// A thread with a connection, which it restores when lost.
class GearmanWorker::Slot : public std::enable_shared_from_this<Slot> {
 public:
  // For functions whose names begin with `prefix`.
  Slot(std::shared_ptr<Shared> shared, std::string prefix)
      : shared_(std::move(shared)), prefix_(std::move(prefix)) {}

  // Returns when the worker is stopped.
  void run();

  // Wakes the thread after a change of the functions or the updates, or to stop. May be called on
  // any thread.
  void wake();

 private:
  struct Wanted {
    Connection::Functions functions = {};
    std::size_t version = 0;
    bool stopping = false;

    bool nothing() const { return stopping || functions.empty(); }
  };

  void serve(Connection::Functions functions);
  Wanted wait_for_functions();
  Wanted wanted();
  Wanted wanted_now() const;  // with the mutex held
  void pause();
  void open();
  void close();
  Connection::Callbacks callbacks();
  template <typename Call>
  void on_loop(Call call) {
    boost::asio::post(shared_->executor, std::move(call));
  }

  std::shared_ptr<Shared> shared_;
  std::string prefix_;
  std::size_t version_ = 0;  // of the offered functions
  bool ready_ = false;
  std::chrono::steady_clock::time_point ready_since_{};
  std::chrono::milliseconds pause_{};  // before reconnecting

  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;  // changed by the thread only, with the mutex held
};

// --- on the event loop

void GearmanWorker::Shared::connected() {
  if (connections++ > 0) return;
  reported = false;
  log.info("Offering functions to the Gearman server {}", server.name());
}

// `reason` is empty if the connection is not needed any more.
void GearmanWorker::Shared::lost(bool was_connected, const std::string& reason) {
  if (was_connected) --connections;
  if (reason.empty()) {
    if (connections == 0) log.info("Offering no functions to the Gearman server {}", server.name());
    return;
  }
  if (connections > 0 || reported) {
    log.debug("Gearman server {}: {}", server.name(), reason);
    return;
  }
  reported = true;
  log.warning("The Gearman server {} is unreachable, retrying: {}", server.name(), reason);
}

void GearmanWorker::Shared::accept(const std::shared_ptr<Job>& job) {
  log.info("Starting Gearman job {} of {}", job->unique(), job->function());
  jobs.spawn("Gearman job " + job->function(), do_job(RunningJob(job)));
}

Task<> GearmanWorker::Shared::do_job(RunningJob running_job) {
  const Job& job = *running_job.job();
  JobResult result;
  try {
    Task<JobResult> doing = handler(running_job.job());
    result = co_await std::move(doing);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    result = Failed{error.what()};
  }
  if (const auto* failed = std::get_if<Failed>(&result)) {
    log.error("Gearman job {} of {} failed: {}", job.unique(), job.function(), failed->reason);
  }
  running_job.end(std::move(result));
}

// --- on a thread

void GearmanWorker::Slot::run() {
  pause_ = shared_->options.first_pause;
  while (true) {
    Wanted wanted = wait_for_functions();
    if (wanted.stopping) return;
    version_ = wanted.version;
    std::string why;
    try {
      serve(std::move(wanted.functions));
    } catch (const std::exception& error) {
      if (!this->wanted().nothing()) why = error.what();
    }
    close();
    const bool was_ready = std::exchange(ready_, false);
    // A server that closes connections immediately does not reset the backoff.
    if (was_ready && std::chrono::steady_clock::now() - ready_since_ > pause_) {
      pause_ = shared_->options.first_pause;
    }
    if (was_ready || !why.empty()) {
      on_loop([shared = shared_, was_ready, why] { shared->lost(was_ready, why); });
    }
    if (!why.empty()) pause();
  }
}

// Returns when there are no functions to offer, or the worker is stopped.
void GearmanWorker::Slot::serve(Connection::Functions functions) {
  while (true) {
    if (!connection_) open();
    if (!connection_->serve(functions)) close();
    Wanted now = wanted();
    if (now.nothing()) return;
    version_ = now.version;
    functions = std::move(now.functions);
  }
}

void GearmanWorker::Slot::open() {
  auto connection =
      std::make_unique<Connection>(shared_->server, shared_->options.heartbeat, callbacks());
  const std::lock_guard lock(mutex_);
  connection_ = std::move(connection);
}

void GearmanWorker::Slot::close() {
  const std::lock_guard lock(mutex_);
  connection_.reset();
}

Connection::Callbacks GearmanWorker::Slot::callbacks() {
  const auto ready = [this] {
    if (std::exchange(ready_, true)) return;
    ready_since_ = std::chrono::steady_clock::now();
    on_loop([shared = shared_] { shared->connected(); });
  };
  const auto start = [this](Job::Request request) -> std::shared_ptr<Job> {
    const Wanted now = wanted();
    if (now.nothing()) throw ConnectionLost("no functions are offered any more");
    if (!now.functions.contains(request.function)) return nullptr;
    auto job = std::make_shared<Job>(std::move(request), [slot = weak_from_this()] {
      if (const auto alive = slot.lock()) alive->wake();
    });
    on_loop([shared = shared_, job] { shared->accept(job); });
    return job;
  };
  const auto interrupted = [this] {
    const std::lock_guard lock(shared_->mutex);
    return shared_->stopping || shared_->version != version_;
  };
  const auto stopping = [this] {
    const std::lock_guard lock(shared_->mutex);
    return shared_->stopping;
  };
  return {.ready = ready, .start = start, .interrupted = interrupted, .stopping = stopping};
}

GearmanWorker::Slot::Wanted GearmanWorker::Slot::wanted() {
  const std::lock_guard lock(shared_->mutex);
  return wanted_now();
}

GearmanWorker::Slot::Wanted GearmanWorker::Slot::wanted_now() const {
  Wanted wanted{.version = shared_->version, .stopping = shared_->stopping};
  for (auto name = shared_->functions.lower_bound(prefix_);
       name != shared_->functions.end() && name->starts_with(prefix_); ++name) {
    wanted.functions.insert(*name);
  }
  return wanted;
}

// Returns the functions to offer when there are any, or the worker is stopped.
GearmanWorker::Slot::Wanted GearmanWorker::Slot::wait_for_functions() {
  std::unique_lock lock(shared_->mutex);
  Wanted wanted;
  shared_->changed.wait(lock, [&] {
    wanted = wanted_now();
    return wanted.stopping || !wanted.functions.empty();
  });
  return wanted;
}

void GearmanWorker::Slot::pause() {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, pause_, [this] { return shared_->stopping; });
  pause_ = std::min(2 * pause_, shared_->options.longest_pause);
}

void GearmanWorker::Slot::wake() {
  const std::lock_guard lock(mutex_);
  if (connection_) connection_->wake();
}

// --- the worker

GearmanWorker::GearmanWorker(const async::Runtime& runtime, telemetry::Logger log, Server server,
                             Handler handler, const Options& options)
    : threads_(all_jobs(options), "gearman"),
      shared_(std::make_shared<Shared>(runtime, std::move(log), std::move(server),
                                       std::move(handler), options)) {
  for (const auto& [prefix, jobs] : options.jobs) {
    for (std::size_t i = 0; i < jobs; ++i) {
      slots_.push_back(std::make_shared<Slot>(shared_, prefix));
    }
  }
}

GearmanWorker::~GearmanWorker() {
  end_threads();
}

void GearmanWorker::start() {
  for (const auto& slot : slots_) {
    ++shared_->running;
    threads_.start(
        shared_->executor, [slot] { slot->run(); },
        [shared = shared_] {
          --shared->running;
          shared->thread_ended.set();
        });
  }
}

void GearmanWorker::end_threads() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  wake_all();
}

void GearmanWorker::wake_all() {
  shared_->changed.notify_all();
  for (const auto& slot : slots_) slot->wake();
}

Task<> GearmanWorker::finish() {
  offer({});
  co_await shared_->jobs.join();
}

Task<> GearmanWorker::stop() {
  end_threads();
  co_await shared_->jobs.stop();
  while (shared_->running > 0) co_await shared_->thread_ended.wait();
}

void GearmanWorker::offer(Connection::Functions functions) {
  for (const std::string& name : functions) require_function_name(name);
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->functions == functions) return;
    shared_->functions = std::move(functions);
    ++shared_->version;
  }
  wake_all();
}

}  // namespace nodepool::gearman
