#include "gearman/workers.h"

#include <algorithm>
#include <utility>

#include "telemetry/log_errors.h"

namespace nodepool::gearman {

using async::Task;

GearmanWorkers::GearmanWorkers(const async::Runtime& runtime, telemetry::Logger log,
                               GearmanWorker::Handler handler, GearmanWorker::Options options)
    : runtime_(runtime),
      log_(std::move(log)),
      handler_(std::move(handler)),
      options_(std::move(options)),
      scope_(runtime, telemetry::log_errors(log_)) {}

void GearmanWorkers::serve(std::vector<Server> servers) {
  for (auto entry = workers_.begin(); entry != workers_.end();) {
    const auto& [server, worker] = *entry;
    if (std::ranges::find(servers, server) != servers.end()) {
      ++entry;
      continue;
    }
    dismiss(worker, server.name());
    entry = workers_.erase(entry);
  }
  for (const Server& server : servers) {
    if (workers_.contains(server)) continue;
    auto worker = std::make_shared<GearmanWorker>(runtime_, log_, server, handler_, options_);
    worker->offer(functions_);
    worker->start();
    workers_.emplace(server, std::move(worker));
  }
}

void GearmanWorkers::dismiss(const Worker& worker, const std::string& server) {
  worker->offer({});
  leaving_.insert(worker);
  scope_.spawn("running jobs of the Gearman server " + server, leave(worker));
}

Task<> GearmanWorkers::leave(Worker worker) {
  co_await worker->finish();
  co_await worker->stop();
  leaving_.erase(worker);
}

void GearmanWorkers::offer(Connection::Functions functions) {
  for (const auto& [server, worker] : workers_) worker->offer(functions);
  functions_ = std::move(functions);
}

Task<> GearmanWorkers::finish() {
  offer({});
  for (const auto& [server, worker] : std::exchange(workers_, {})) dismiss(worker, server.name());
  co_await scope_.join();
}

Task<> GearmanWorkers::stop() {
  for (const auto& [server, worker] : std::exchange(workers_, {})) dismiss(worker, server.name());
  const std::set<Worker> all = leaving_;
  for (const Worker& worker : all) scope_.spawn("stopping Gearman jobs", end(worker));
  co_await scope_.join();
}

Task<> GearmanWorkers::end(Worker worker) {
  co_await worker->stop();
}

}  // namespace nodepool::gearman
