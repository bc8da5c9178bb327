#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "gearman/worker.h"
#include "telemetry/log.h"

namespace nodepool::gearman {

// Offers the same functions to all servers of a list, which may become another one at any time.
class GearmanWorkers {
 public:
  // The options are those for each server. Without servers, at first. The runtime outlives it.
  GearmanWorkers(const async::Runtime& runtime, telemetry::Logger log,
                 GearmanWorker::Handler handler, GearmanWorker::Options options);

  // Which servers there are from now on. Those that stay notice nothing. One that is not in the
  // list any more is offered nothing at once; the jobs that it has given are still done.
  void serve(std::vector<Server> servers);

  // Whether there is no server to offer anything to.
  bool empty() const { return workers_.empty(); }

  // As GearmanWorker::offer(); also for servers to come.
  void offer(Connection::Functions functions);

  // Offers nothing any more; returns when the jobs under way have been done. serve() is not called
  // after it.
  async::Task<> finish();

  // Ends all jobs, giving them back, and all connections. Nothing is called after it, but
  // finish() may still be under way.
  async::Task<> stop();

 private:
  using Worker = std::shared_ptr<GearmanWorker>;

  void dismiss(const Worker& worker, const std::string& server);
  async::Task<> leave(Worker worker);
  static async::Task<> end(Worker worker);

  async::Runtime runtime_;
  telemetry::Logger log_;
  GearmanWorker::Handler handler_;
  GearmanWorker::Options options_;
  Connection::Functions functions_;
  std::map<Server, Worker> workers_;
  std::set<Worker> leaving_;  // each until its last job has been done
  async::TaskScope scope_;
};

}  // namespace nodepool::gearman
