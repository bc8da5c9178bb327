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

// Tells statsd how things stand: each launcher the limits of its own configuration and how far its
// tables are behind, and one of all launchers, which they elect, how many nodes and requests there
// are. Tells whoever asks all of it.
class StatsWorker {
 public:
  struct Options {
    telemetry::Metrics metrics;
    std::string hostname;  // names this launcher to those who look who was elected
    // How many operations of the store await their answer; empty: nobody knows.
    std::function<std::size_t()> store_queue;
  };

  StatsWorker(const WorkerContext& context, const Providers& providers,
              const planning::TenantLimits& tenant_limits, Options options);

  // Adds how things stand now.
  void add_metrics(telemetry::MetricsRegistry& figures);

  // Begins to work, if there is a statsd server.
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
  void report_counts(const NodeCounts& node_counts, NodeCounts::Values& told) const;

  const WorkerContext& context_;
  const Providers& providers_;
  const planning::TenantLimits& tenant_limits_;
  Options options_;
  telemetry::Metrics metrics_;                // for statsd
  std::optional<NodeCounts> current_counts_;  // once somebody has asked
  telemetry::Logger log_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
