#include "driver/statemachine/state_machine_config.h"

#include <algorithm>
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

void StateMachineConfig::load_boot_and_retries(const config::Section& provider) {
  boot_timeout_ = std::chrono::seconds(provider.integer("boot-timeout"));
  launch_retries_ = std::max<std::int64_t>(1, provider.integer("launch-retries"));
}

void StateMachineConfig::load_launch_timeout(const config::Section& provider) {
  launch_timeout_ = std::chrono::seconds(provider.integer("launch-timeout"));
}

Offer StateMachineConfig::offer() const {
  Offer offer = ProviderConfig::offer();
  offer.launches = true;
  for (auto& [name, pool] : offer.pools) pool.zones = machine_pool(name).zones;
  return offer;
}

bool StateMachineConfig::same_as(const ProviderConfig& other) const {
  const auto* machines = dynamic_cast<const StateMachineConfig*>(&other);
  return machines != nullptr && ProviderConfig::same_as(other) &&
         machine_pools_ == machines->machine_pools_;
}

}  // namespace nodepool::driver
