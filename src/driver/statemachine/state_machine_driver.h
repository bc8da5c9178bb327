#pragma once

#include <memory>

#include "driver/driver.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/state_machine_config.h"
#include "nodescan/scanner.h"

namespace nodepool::driver {

// Base of state machine drivers. A driver implements name(), schema(), configure() and adapter().
class StateMachineDriver : public Driver {
 public:
  std::unique_ptr<Provider> provider(std::shared_ptr<const ProviderConfig> config,
                                     ProviderContext context) const final;

 protected:
  // Creates the adapter of a provider. `config` is what configure() returned.
  virtual std::unique_ptr<Adapter> adapter(std::shared_ptr<const ProviderConfig> config,
                                           ProviderContext context) const = 0;

  // Creates the scanner for host keys. By default, it scans over the network.
  virtual std::unique_ptr<nodescan::Scanner> scanner(const ProviderContext& context) const;
};

}  // namespace nodepool::driver
