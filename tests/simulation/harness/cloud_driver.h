#pragma once

#include <memory>
#include <string_view>

#include "driver/statemachine/state_machine_driver.h"
#include "tests/simulation/harness/cloud.h"
#include "tests/simulation/harness/custody.h"
#include "tests/simulation/harness/known_limits.h"
#include "tests/simulation/harness/process.h"
#include "tests/simulation/harness/simulated_driver.h"

namespace nodepool::simulation {

// What the cloud driver acts upon. Outlives it.
struct CloudWorld {
  World& world;
  Clouds& clouds;
  KnownLimits& known;
  Custody& custody;
  const Hardware& hardware;
};

// `driver: cloud`: launches machines, as slowly and unreliably as the Hardware says.
class CloudDriver final : public driver::StateMachineDriver {
 public:
  explicit CloudDriver(CloudWorld world) : world_(world) {}

  std::string_view name() const override { return "cloud"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;

 private:
  CloudWorld world_;
};

}  // namespace nodepool::simulation
