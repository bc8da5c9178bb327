#pragma once

#include <memory>

#include "driver/statemachine/state_machine_driver.h"

namespace nodepool::drivers::metastatic {

// `driver: metastatic`: several nodes on one node of another provider. See
// docs/drivers/metastatic.md.
class MetastaticDriver final : public driver::StateMachineDriver {
 public:
  std::string_view name() const override { return "metastatic"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;
};

}  // namespace nodepool::drivers::metastatic
