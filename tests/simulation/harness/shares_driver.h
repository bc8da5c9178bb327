#pragma once

#include <memory>
#include <string_view>

#include "driver/statemachine/state_machine_driver.h"
#include "drivers/metastatic/metastatic_driver.h"
#include "tests/simulation/harness/known_limits.h"
#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

// `driver: metastatic` as it is, for hosts that only exist here; what it is configured with is
// known.
class SharesDriver final : public driver::StateMachineDriver {
 public:
  // Both outlive it.
  SharesDriver(World& world, KnownLimits& known) : world_(world), known_(known) {}

  std::string_view name() const override { return driver_.name(); }
  const config::Schema& schema() const override { return driver_.schema(); }
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;
  std::unique_ptr<nodescan::Scanner> scanner(const driver::ProviderContext& context) const override;

 private:
  World& world_;
  KnownLimits& known_;
  drivers::metastatic::MetastaticDriver driver_;
};

}  // namespace nodepool::simulation
