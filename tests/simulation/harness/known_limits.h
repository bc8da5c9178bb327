#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "driver/driver.h"

namespace nodepool::simulation {

// What each launcher has been told, in its life, that it may take. It may act on any of that for a
// while, after it has heard of something lower; so of several limits the highest counts.
class KnownLimits {
 public:
  // By the number of its process.
  using Launcher = std::uint64_t;

  void provider_may_take(Launcher launcher, const std::string& provider,
                         const driver::Limits& limits);
  void configured(Launcher launcher, const driver::ProviderConfig& provider);
  void tenants_may_take(Launcher launcher, const std::map<std::string, driver::Limits>& limits);

  driver::Limits of_provider(Launcher launcher, const std::string& provider) const;
  driver::Limits of_pool(Launcher launcher, const std::string& provider,
                         const std::string& pool) const;
  driver::Limits of_tenant(Launcher launcher, const std::string& tenant) const;

  // Whether some pool of the provider has ever been told to mind its own limits only: then the
  // provider's are exceeded.
  bool ignores_limits_of(Launcher launcher, const std::string& provider) const;

 private:
  struct Known {
    std::map<std::string, driver::Limits> providers;
    std::map<std::tuple<std::string, std::string>, driver::Limits> pools;
    std::map<std::string, driver::Limits> tenants;
    bool has_tenants = false;
    std::set<std::string> ignored;  // providers
  };

  const Known* find(Launcher launcher) const;

  std::map<Launcher, Known> known_;
};

}  // namespace nodepool::simulation
