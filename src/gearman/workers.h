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

// Offers the same functions to all servers of a list that may change.
class GearmanWorkers {
 public:
  // `options` are for each server. The list of servers is empty at first. The runtime outlives it.
  GearmanWorkers(const async::Runtime& runtime, telemetry::Logger log,
                 GearmanWorker::Handler handler, GearmanWorker::Options options);

  // Sets the list of servers. Servers that stay in the list keep their connections. Functions are
  // withdrawn from removed servers at once; their running jobs are completed.
  void serve(std::vector<Server> servers);

  // Whether the list of servers is empty.
  bool empty() const { return workers_.empty(); }

  // As GearmanWorker::offer(), also for servers that are added later.
  void offer(Connection::Functions functions);

  // Withdraws all functions. Returns when all running jobs are completed. serve() must not be
  // called after it.
  async::Task<> finish();

  // Returns all jobs to the servers and closes all connections. May be called during finish(). No
  // other function may be called after it.
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
  std::set<Worker> leaving_;  // each until its last job is completed
  async::TaskScope scope_;
};

}  // namespace nodepool::gearman
