#pragma once

#include <memory>

#include "driver/driver.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/state_machine_config.h"
#include "nodescan/scanner.h"

namespace nodepool::driver {

// A driver whose machines are made by state machines: its author writes name(), schema(),
// configure(), and the adapter.
class StateMachineDriver : public Driver {
 public:
  std::unique_ptr<Provider> provider(std::shared_ptr<const ProviderConfig> config,
                                     ProviderContext context) const final;

 protected:
  // `config` is what configure() returned.
  virtual std::unique_ptr<Adapter> adapter(std::shared_ptr<const ProviderConfig> config,
                                           ProviderContext context) const = 0;

  // How a provider's machines are looked at: by default over the network.
  virtual std::unique_ptr<nodescan::Scanner> scanner(const ProviderContext& context) const;
};

}  // namespace nodepool::driver
