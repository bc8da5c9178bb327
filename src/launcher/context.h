#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "config/config.h"
#include "coordination/store.h"
#include "driver/driver.h"
#include "launcher/absent_pools.h"
#include "launcher/history_recorder.h"
#include "model/installation.h"
#include "model/records.h"
#include "planning/usage.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace nodepool::launcher {

using async::Task;
using driver::Resources;
using planning::Usage;

// What all workers of one launcher share. Outlives them.
struct LauncherContext {
  async::Runtime runtime;
  coordination::Store& store;
  model::Records& records;
  async::ThreadPool& threads;
  HistoryRecorder& history;
  telemetry::Logger log;  // "nodepool"
  std::string hostname;   // as gethostname() says
  std::string fqdn;
  telemetry::Metrics metrics;
  Usage& usage;
  std::map<std::string, config::TenantLimits> tenant_limits = {};  // by tenant, as configured now
  std::shared_ptr<const model::Installation> installation =
      std::make_shared<const model::Installation>();
  std::set<std::string> own_pools = {};  // component ids of the pools of this launcher

  AbsentPools absent_pools = {};

  // The pool that the request is to wait for though all registered pools have declined it; empty:
  // none.
  std::string expected_pool(const model::NodeRequest& request) const {
    return absent_pools.expected_for(request, records.components.pools(), records.nodes,
                                     runtime.clock.now());
  }

  // For TaskScope: logs what escapes a task.
  async::TaskScope::ErrorHandler report_to(telemetry::Logger logger) const {
    return [logger = std::move(logger)](const std::string& name, const std::string& error) {
      logger.error("{}: {}", name, error);
    };
  }
};

}  // namespace nodepool::launcher
