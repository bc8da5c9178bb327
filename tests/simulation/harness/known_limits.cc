#include "tests/simulation/harness/known_limits.h"

#include <algorithm>

namespace nodepool::simulation {

namespace {

// What is not listed is not limited, by either.
driver::Limits highest(const driver::Limits& some, const driver::Limits& others) {
  driver::Limits highest;
  for (const auto& [name, limit] : some) {
    const auto other = others.find(name);
    if (other != others.end()) highest[name] = std::max(limit, other->second);
  }
  return highest;
}

template <typename Map, typename Key>
void add(Map& known, const Key& key, const driver::Limits& limits) {
  const auto [entry, is_new] = known.try_emplace(key, limits);
  if (!is_new) entry->second = highest(entry->second, limits);
}

template <typename Map, typename Key>
driver::Limits look_up(const Map& known, const Key& key) {
  const auto found = known.find(key);
  return found == known.end() ? driver::Limits() : found->second;
}

}  // namespace

const KnownLimits::Known* KnownLimits::find(Launcher launcher) const {
  const auto found = known_.find(launcher);
  return found == known_.end() ? nullptr : &found->second;
}

void KnownLimits::provider_may_take(Launcher launcher, const std::string& provider,
                                    const driver::Limits& limits) {
  add(known_[launcher].providers, provider, limits);
}

void KnownLimits::configured(Launcher launcher, const driver::ProviderConfig& provider) {
  Known& known = known_[launcher];
  for (const auto& [name, pool] : provider.pools()) {
    add(known.pools, std::tuple(provider.name(), name), pool.limits);
    if (pool.ignore_provider_quota) known.ignored.insert(provider.name());
  }
}

// A tenant that is not listed is not limited.
void KnownLimits::tenants_may_take(Launcher launcher,
                                   const std::map<std::string, driver::Limits>& limits) {
  Known& known = known_[launcher];
  if (!std::exchange(known.has_tenants, true)) {
    known.tenants = limits;
    return;
  }
  for (auto& [tenant, limit] : known.tenants) limit = highest(limit, look_up(limits, tenant));
}

driver::Limits KnownLimits::of_provider(Launcher launcher, const std::string& provider) const {
  const Known* known = find(launcher);
  return known == nullptr ? driver::Limits() : look_up(known->providers, provider);
}

driver::Limits KnownLimits::of_pool(Launcher launcher, const std::string& provider,
                                    const std::string& pool) const {
  const Known* known = find(launcher);
  return known == nullptr ? driver::Limits() : look_up(known->pools, std::tuple(provider, pool));
}

driver::Limits KnownLimits::of_tenant(Launcher launcher, const std::string& tenant) const {
  const Known* known = find(launcher);
  return known == nullptr ? driver::Limits() : look_up(known->tenants, tenant);
}

bool KnownLimits::ignores_limits_of(Launcher launcher, const std::string& provider) const {
  const Known* known = find(launcher);
  return known != nullptr && known->ignored.contains(provider);
}

}  // namespace nodepool::simulation
