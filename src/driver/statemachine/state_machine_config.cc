#include "driver/statemachine/state_machine_config.h"

#include <algorithm>
#include <utility>

#include "config/duration.h"

namespace nodepool::driver {

void StateMachineConfig::add_pool(PoolConfig pool, MachinePool machines) {
  for (const auto& [name, label] : machines.labels) pool.labels.insert(name);
  machine_pools_.insert_or_assign(pool.name, std::move(machines));
  pools_.insert_or_assign(pool.name, std::move(pool));
}

void StateMachineConfig::load_boot_and_retries(const config::Section& provider) {
  boot_timeout_ = config::duration_of(provider.integer("boot-timeout"));
  launch_retries_ = std::max<std::int64_t>(1, provider.integer("launch-retries"));
}

void StateMachineConfig::load_launch_timeout(const config::Section& provider) {
  launch_timeout_ = config::duration_of(provider.integer("launch-timeout"));
}

Offer StateMachineConfig::offer() const {
  Offer offer = ProviderConfig::offer();
  offer.launches = true;
  offer.launch_attempts = launch_retries_;
  for (auto& [pool_name, pool] : offer.pools) {
    pool.zones = machine_pool(pool_name).zones;
    for (auto& [name, label] : pool.labels) {
      label.diskimage = machine_label(pool_name, name).diskimage;
    }
  }
  return offer;
}

bool StateMachineConfig::same_as(const ProviderConfig& other) const {
  const auto* machines = dynamic_cast<const StateMachineConfig*>(&other);
  return machines != nullptr && ProviderConfig::same_as(other) &&
         machine_pools_ == machines->machine_pools_;
}

}  // namespace nodepool::driver
