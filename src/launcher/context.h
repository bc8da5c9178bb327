#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "config/config.h"
#include "coordination/store.h"
#include "driver/driver.h"
#include "launcher/absent_pools.h"
#include "launcher/history_recorder.h"
#include "model/component_table.h"
#include "model/image_table.h"
#include "model/installation.h"
#include "model/node_table.h"
#include "model/request_table.h"
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
  model::NodeTable& nodes;
  model::RequestTable& requests;
  model::ComponentTable& components;
  model::ImageTable& images;
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
    return absent_pools.expected_for(request, components.pools(), nodes, runtime.clock.now());
  }

  bool tables_ready() const {
    return nodes.ready() && requests.ready() && components.ready() && images.ready();
  }

  // Calls `observer` when all tables have become ready, whichever was the last.
  coordination::Subscription observe_tables_ready(std::function<void()> observer) {
    const auto on_readiness = [this, observer = std::move(observer)](bool) {
      if (tables_ready()) observer();
    };
    return std::make_shared<std::array<coordination::Subscription, 4>>(std::array{
        nodes.observe_readiness(on_readiness), requests.observe_readiness(on_readiness),
        components.observe_readiness(on_readiness), images.observe_readiness(on_readiness)});
  }

  // Before another attempt at what has failed: `pause`, but no longer than until a store that was
  // out of reach is back.
  Task<> pause_before_retry(async::Duration pause) {
    async::Event back("the store is back");
    const coordination::Subscription subscription = observe_tables_ready([&back] { back.set(); });
    co_await back.wait_until(runtime.clock, runtime.clock.now() + pause);
  }

  // For TaskScope: logs what escapes a task.
  async::TaskScope::ErrorHandler report_to(telemetry::Logger logger) const {
    return [logger = std::move(logger)](const std::string& name, const std::string& error) {
      logger.error("{}: {}", name, error);
    };
  }
};

}  // namespace nodepool::launcher
