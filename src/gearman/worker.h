#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "gearman/connection.h"
#include "gearman/job.h"
#include "telemetry/log.h"

// Gearman's side of those who do the work (http://gearman.org/protocol): a worker offers functions
// to a job server, and does the jobs that its clients ask for.
namespace nodepool::gearman {

// Offers functions to a server, and has a handler on the event loop do the jobs.
//
// libgearman's worker blocks while it waits for a job, and while it does one: it cannot wait for
// more work on the same connection, and is not safe to touch from another thread. So there are as
// many threads, with a connection each, as there may be jobs at the same time. Each connection is
// for some of the functions, so that a flood of jobs of one kind leaves room for the others.
// A change of the functions wakes those that wait; a connection that has a job tells the server of
// the change after it.
//
// A connection that is lost is made again after a pause that grows, and the server told anew of the
// functions. What was asked for on it goes on, but nobody gets its result: the server gives the job
// to somebody else, if the server is not gone itself.
class GearmanWorker {
 public:
  // Does a job. What it throws is why the job has failed; Cancelled gives the job back. It may be
  // called again for a job that is still being done, if a connection was lost.
  using Handler = std::function<async::Task<JobResult>(std::shared_ptr<Job> job)>;

  struct Options {
    // How many at the same time, of the functions whose names begin so.
    std::map<std::string, std::size_t> jobs = {{"", 1}};
    // Before a connection is tried again.
    std::chrono::milliseconds first_pause = std::chrono::seconds(1);
    std::chrono::milliseconds longest_pause = std::chrono::seconds(60);
    // After so much silence it is tried whether a server is still there.
    std::chrono::milliseconds heartbeat = std::chrono::seconds(60);
  };

  // The server is called when start() is; the runtime outlives the worker.
  GearmanWorker(const async::Runtime& runtime, telemetry::Logger log, Server server,
                Handler handler, const Options& options);
  // Waits for the threads if stop() has not done so.
  ~GearmanWorker();
  GearmanWorker(const GearmanWorker&) = delete;
  GearmanWorker& operator=(const GearmanWorker&) = delete;

  void start();

  // Offers nothing any more; returns when the jobs under way have been done.
  async::Task<> finish();

  // Ends all jobs, giving them back, and all connections. It may be called again, and while
  // finish() has not returned.
  async::Task<> stop();

  // What is offered from now on; the server is told. Throws std::invalid_argument for names that
  // Gearman does not know: empty, longer than 512 bytes, or with a NUL.
  void offer(Connection::Functions functions);

 private:
  struct Shared;
  class Slot;

  void end_threads();
  void wake_all();

  async::ThreadPool threads_;
  std::shared_ptr<Shared> shared_;  // with the threads
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace nodepool::gearman
