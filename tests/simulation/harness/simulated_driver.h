#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "driver/driver.h"
#include "tests/simulation/harness/cloud.h"
#include "tests/simulation/harness/journal.h"

namespace nodepool::simulation {

using async::Task;

// How the machines behind simulated providers behave. Chances are from 0 to 1.
struct Hardware {
  double unusable = 0;           // found broken when it is about to be handed out
  double reclaim_fails = 0;      // an attempt to take it back throws
  double needs_repair = 0;       // there is no replacement at first
  double slowest_check = 0;      // seconds
  double slowest_take_back = 0;  // seconds

  // Of clouds.
  double launch_fails = 0;    // before the machine exists, and again after that
  double launch_refused = 0;  // though there is room
  double answer_fails = 0;    // a question for the limits
  double slowest_launch = 0;  // seconds, for one of its steps
  double slowest_answer = 0;  // seconds
  bool cloud_is_away = false;
  CloudFaults faults;
};

// `driver: simulated`: machines in the configuration, each of which is one node at a time, like the
// static driver's, but slow and unreliable as the Hardware says.
class SimulatedDriver final : public driver::Driver {
 public:
  SimulatedDriver(std::shared_ptr<const Hardware> hardware, Journal& journal)
      : hardware_(std::move(hardware)), journal_(journal) {}

  std::string_view name() const override { return "simulated"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::unique_ptr<driver::Provider> provider(std::shared_ptr<const driver::ProviderConfig> config,
                                             driver::ProviderContext context) const override;

 private:
  std::shared_ptr<const Hardware> hardware_;
  Journal& journal_;
};

}  // namespace nodepool::simulation
