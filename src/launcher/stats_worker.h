#pragma once

#include "async/task_scope.h"
#include "launcher/census.h"
#include "launcher/context.h"
#include "launcher/providers.h"

namespace nodepool::launcher {

// Tells statsd how things stand: each launcher the limits of its own configuration, and one of all
// launchers, which they elect, how many nodes and requests there are.
class StatsWorker {
 public:
  // `hostname` names this launcher to those who look who was elected.
  StatsWorker(const WorkerContext& context, const Providers& providers,
              const planning::TenantLimits& tenant_limits, telemetry::Metrics metrics,
              std::string hostname);

  // Begins to work, if anybody listens.
  void start();

  // Ends the work and leaves the election.
  Task<> stop();

 private:
  Task<> tell_limits_now_and_then();
  void tell_limits() const;
  Task<> stand_for_election();
  Task<> lead();
  void tell_counts(const Census& census, Census::Figures& told) const;

  const WorkerContext& context_;
  const Providers& providers_;
  const planning::TenantLimits& tenant_limits_;
  telemetry::Metrics metrics_;
  std::string hostname_;
  telemetry::Logger log_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
