#include "driver/statemachine/state_machine_config.h"

#include <stdexcept>

namespace nodepool::driver {

const MachinePool& StateMachineConfig::machine_pool(std::string_view pool) const {
  const auto found = machine_pools_.find(pool);
  if (found == machine_pools_.end()) throw std::out_of_range("no pool " + std::string(pool));
  return found->second;
}

const MachineLabel& StateMachineConfig::machine_label(std::string_view pool,
                                                      std::string_view label) const {
  const auto& labels = machine_pool(pool).labels;
  const auto found = labels.find(label);
  if (found == labels.end()) throw std::out_of_range("no label " + std::string(label));
  return found->second;
}

bool StateMachineConfig::same_as(const ProviderConfig& other) const {
  const auto* machines = dynamic_cast<const StateMachineConfig*>(&other);
  return machines != nullptr && ProviderConfig::same_as(other) &&
         machine_pools_ == machines->machine_pools_;
}

}  // namespace nodepool::driver
