#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "async/task_scope.h"
#include "launcher/context.h"
#include "launcher/node_counts.h"
#include "launcher/providers.h"

namespace nodepool::launcher {

// Reports gauges to statsd: each launcher its configured limits and the queues of its tables, and
// one elected launcher the numbers of nodes and requests. Provides all of them to add_metrics().
class StatsWorker {
 public:
  struct Options {
    telemetry::Metrics metrics;
    std::string hostname;  // identifies this launcher in the election
    // The number of store operations in progress; empty: unknown.
    std::function<std::size_t()> store_queue;
  };

  StatsWorker(const WorkerContext& context, const Providers& providers,
              const planning::TenantLimits& tenant_limits, Options options);

  // Adds the current values.
  void add_metrics(telemetry::MetricsRegistry& registry);

  // Starts the work if there is a statsd server.
  void start();

  // Ends the work and leaves the election.
  Task<> stop();

 private:
  using Gauges = std::map<telemetry::Series, double>;

  Task<> report_periodically(async::Duration pause, Gauges (StatsWorker::*gauges)() const);
  Gauges limits() const;
  Gauges queues() const;
  Task<> stand_for_election();
  Task<> lead();
  void report_counts(const NodeCounts& node_counts, NodeCounts::Values& reported) const;

  const WorkerContext& context_;
  const Providers& providers_;
  const planning::TenantLimits& tenant_limits_;
  Options options_;
  telemetry::Metrics metrics_;                // for statsd
  std::optional<NodeCounts> current_counts_;  // after the first add_metrics()
  telemetry::Logger log_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
