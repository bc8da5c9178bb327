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

// The worker side of Gearman (http://gearman.org/protocol): a worker offers functions to a job
// server and runs the jobs of clients.
namespace nodepool::gearman {

// Offers functions to a server and runs the jobs with a handler on the event loop.
//
// libgearman's worker blocks while it waits for a job and while it runs one, and is not
// thread-safe. So there is one thread with a connection for each concurrent job. Each connection
// offers only some of the functions, so that many jobs of one kind cannot block the others. A
// change of the functions wakes waiting connections; a connection with a job sends the change after
// it.
//
// A lost connection is restored with exponential backoff. Its running job continues, but the result
// is discarded: the server assigns the job to another worker.
class GearmanWorker {
 public:
  // Runs a job. An exception fails the job; Cancelled returns it to the server. May be called again
  // for a running job after a lost connection.
  using Handler = std::function<async::Task<JobResult>(std::shared_ptr<Job> job)>;

  struct Options {
    // Maximum number of concurrent jobs, by prefix of the function name.
    std::map<std::string, std::size_t> jobs = {{"", 1}};
    // Delays before reconnecting.
    std::chrono::milliseconds first_pause = std::chrono::seconds(1);
    std::chrono::milliseconds longest_pause = std::chrono::seconds(60);
    // Silence after which the connection is checked.
    std::chrono::milliseconds heartbeat = std::chrono::seconds(60);
  };

  // start() connects to the server. The runtime outlives the worker.
  GearmanWorker(const async::Runtime& runtime, telemetry::Logger log, Server server,
                Handler handler, const Options& options);
  // Waits for the threads unless stop() has done so.
  ~GearmanWorker();
  GearmanWorker(const GearmanWorker&) = delete;
  GearmanWorker& operator=(const GearmanWorker&) = delete;

  void start();

  // Withdraws all functions. Returns when all running jobs are completed.
  async::Task<> finish();

  // Returns all jobs to the server and closes all connections. May be called again, and during
  // finish().
  async::Task<> stop();

  // Sets the offered functions. Throws std::invalid_argument for invalid names: empty, longer than
  // 512 bytes, or with a NUL.
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
