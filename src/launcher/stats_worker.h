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
  StatsWorker(LauncherContext& context, const Providers& providers);

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

  LauncherContext& context_;
  const Providers& providers_;
  telemetry::Logger log_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
