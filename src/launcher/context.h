#pragma once

#include <memory>
#include <set>
#include <string>

#include "async/runtime.h"
#include "async/task.h"
#include "coordination/store.h"
#include "launcher/departed_pools.h"
#include "launcher/handled_requests.h"
#include "launcher/history_recorder.h"
#include "lifecycle/node_writer.h"
#include "model/installation.h"
#include "model/records.h"
#include "planning/deletions.h"
#include "planning/resource_usage.h"
#include "planning/starved_requests.h"
#include "planning/verdict.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace nodepool::launcher {

using async::Task;
using driver::Resources;
using planning::ResourceUsage;

// The context of all workers of a launcher. Outlives them.
struct WorkerContext {
  async::Runtime runtime;
  coordination::Store& store;
  model::Records& records;
  telemetry::Logger log;  // "nodepool"
  telemetry::Metrics metrics = {};

  lifecycle::NodeWriter node_writer() const { return {runtime, store, records.nodes}; }

  // The logger with the ids of a request and one of its nodes, and the id of the requestor's event
  // if the request exists.
  telemetry::Logger about(const telemetry::Logger& logger, const std::string& request_id,
                          std::string_view node_id = {}) const {
    const model::NodeRequest* request = records.requests.find(request_id);
    const bool has_event = request != nullptr && request->event_id;
    return logger.about(has_event ? *request->event_id : std::string(), request_id, node_id);
  }

  // The logger with the ids of a node and its last request.
  telemetry::Logger about(const telemetry::Logger& logger, const model::Node& node) const {
    return about(logger, node.allocated_to ? std::string(*node.allocated_to) : std::string(),
                 node.id);
  }
};

// The context of the workers that serve requests. Outlives them.
struct ServingContext : WorkerContext {
  std::string hostname;  // as gethostname() returns
  std::string fqdn;
  HistoryRecorder& history;
  ResourceUsage& usage;
  planning::Deletions& deletions;
  const planning::TenantLimits& tenant_limits;  // as configured now
  DepartedPools& departed_pools;
  HandledRequests& handled_requests;
  planning::StarvedRequests& starved;
  std::set<std::string>& own_pools;  // component ids of the pools of this launcher
  std::shared_ptr<const model::Installation> installation;

  // The departed pool that the request waits for although all registered pools have declined it;
  // empty: none.
  std::string expected_pool(const model::NodeRequest& request) const {
    return departed_pools.expected_for(request, records.components.pools(), records.nodes,
                                       runtime.clock.now());
  }
};

}  // namespace nodepool::launcher
