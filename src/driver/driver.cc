#include "driver/driver.h"

#include <algorithm>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "config/outside_error.h"
#include "config/section.h"

namespace nodepool::driver {

namespace {

constexpr std::int64_t kDefaultPriority = 100;

}  // namespace

bool ProviderConfig::uses_cloud_quota() const {
  return std::ranges::any_of(pools_,
                             [](const auto& pool) { return !pool.second.ignore_provider_quota; });
}

void ProviderConfig::require_files() const {
  if (outside_problem_) throw config::OutsideError(*outside_problem_);
}

Offer ProviderConfig::offer() const {
  Offer offer;
  for (const auto& [name, pool] : pools_) {
    PoolOffer& offered = offer.pools[name];
    for (const std::string& label : pool.labels) offered.labels.emplace(label, LabelOffer());
  }
  return offer;
}

std::shared_ptr<const Offer> Provider::offer() const {
  return std::make_shared<const Offer>(config().offer());
}

std::shared_ptr<const Offer> LaunchingProvider::offer() const {
  Offer offer = config().offer();
  offer.launches = true;
  return std::make_shared<const Offer>(std::move(offer));
}

Task<std::map<std::string, std::string>> Provider::terminated() {
  co_return std::map<std::string, std::string>{};
}

Task<std::vector<std::string>> Provider::missing_in_cloud() {
  co_return std::vector<std::string>{};
}

Task<Limits> Provider::available() {
  co_return Limits{};
}

PoolConfig load_common_pool(const config::Section& section,
                            const config::ProviderSection& provider) {
  PoolConfig pool;
  pool.name = section.text("name");
  pool.max_servers = section.optional_integer("max-servers");
  if (pool.max_servers) pool.limits["instances"] = static_cast<double>(*pool.max_servers);
  pool.priority =
      section.optional_integer("priority").value_or(provider.priority.value_or(kDefaultPriority));
  if (const config::Value* attributes = section.find("node-attributes")) {
    pool.node_attributes = model::Json::parse(config::to_json(*attributes).dump());
  }
  return pool;
}

std::set<std::string> Driver::files(const config::ProviderSection& /*section*/) const {
  return {};
}

DriverRegistry::DriverRegistry(std::vector<std::unique_ptr<Driver>> drivers) {
  for (auto& driver : drivers) {
    std::string name(driver->name());
    drivers_.emplace(std::move(name), std::move(driver));
  }
}

const Driver& DriverRegistry::driver(std::string_view name) const {
  const auto found = drivers_.find(name);
  if (found == drivers_.end()) throw std::out_of_range("no driver " + std::string(name));
  return *found->second;
}

std::set<std::string> DriverRegistry::files(const config::Config& config) const {
  std::set<std::string> files;
  for (const config::ProviderSection& section : config.providers) {
    files.merge(driver(section.driver).files(section));
  }
  return files;
}

config::DriverSchemas DriverRegistry::schemas() const {
  config::DriverSchemas schemas;
  for (const auto& [name, driver] : drivers_) schemas.schemas.emplace(name, &driver->schema());
  return schemas;
}

}  // namespace nodepool::driver
