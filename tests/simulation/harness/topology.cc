#include "tests/simulation/harness/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/yaml.h"
#include "tests/simulation/harness/chance.h"

namespace nodepool::simulation {

namespace {

HostSpec draw_host(async::Random& random, const std::string& provider) {
  HostSpec host;
  // Unique, also among hosts that come and go.
  host.name = fmt::format("fake-{}-{}", provider, random.uuid_hex().substr(0, 4));
  host.username = "zuul";
  for (const std::string& label : kLabels) {
    if (chance(random, 0.4)) host.labels.push_back(label);
  }
  if (host.labels.empty()) host.labels.push_back(pick(random, kLabels));
  host.slots = chance(random, 0.6) ? 1 : between(random, 2, 3);
  return host;
}

ProviderSpec draw_provider(async::Random& random, std::size_t index) {
  ProviderSpec provider;
  const bool is_static = chance(random, 0.7);
  provider.driver = is_static ? "static" : "simulated";
  provider.name = fmt::format("{}{}", is_static ? "rack" : "lab", index);
  const auto pools = between(random, 1, 2);
  for (std::int64_t i = 0; i < pools; ++i) {
    PoolSpec pool{fmt::format("pool{}", i), chance(random, 0.7) ? 100 : between(random, 1, 3), {}};
    const auto hosts = between(random, 1, 3);
    for (std::int64_t j = 0; j < hosts; ++j) {
      pool.hosts.push_back(draw_host(random, provider.name + pool.name));
    }
    provider.pools.push_back(std::move(pool));
  }
  return provider;
}

std::string to_yaml(const ProviderSpec& provider) {
  std::string yaml =
      fmt::format("  - name: {}\n    driver: {}\n    pools:\n", provider.name, provider.driver);
  for (const PoolSpec& pool : provider.pools) {
    yaml += fmt::format("      - name: {}\n        priority: {}\n        nodes:\n", pool.name,
                        pool.priority);
    for (const HostSpec& host : pool.hosts) {
      yaml += fmt::format(
          "          - {{name: {}, labels: [{}], username: {}, max-parallel-jobs: {}}}\n",
          host.name, fmt::join(host.labels, ", "), host.username, host.slots);
    }
  }
  return yaml;
}

}  // namespace

Topology draw_topology(async::Random& random) {
  Topology topology;
  const auto launchers = between(random, 1, 3);
  for (std::int64_t i = 0; i < launchers; ++i) {
    std::vector<std::string>& names = topology.launchers.emplace_back();
    const auto providers = between(random, 1, 2);
    for (std::int64_t j = 0; j < providers; ++j) {
      ProviderSpec provider = draw_provider(random, topology.providers.size());
      names.push_back(provider.name);
      topology.providers.emplace(provider.name, std::move(provider));
    }
    // Several launchers may serve the same provider.
    if (i > 0 && chance(random, 0.25)) names.push_back(topology.launchers.front().front());
  }
  return topology;
}

void change_topology(Topology& topology, async::Random& random) {
  auto provider = topology.providers.begin();
  std::advance(provider, static_cast<std::ptrdiff_t>(random.below(topology.providers.size())));
  PoolSpec& pool = provider->second.pools[random.below(provider->second.pools.size())];
  const std::size_t host = random.below(pool.hosts.size());
  switch (random.below(5)) {
    case 0:
      pool.hosts.push_back(draw_host(random, provider->first + pool.name));
      break;
    case 1:
      if (pool.hosts.size() > 1) {
        pool.hosts.erase(pool.hosts.begin() + static_cast<std::ptrdiff_t>(host));
      }
      break;
    case 2:
      pool.hosts[host].labels = draw_host(random, "").labels;
      break;
    case 3:
      pool.hosts[host].slots = between(random, 1, 3);
      break;
    default:
      pool.hosts[host].username = pool.hosts[host].username == "zuul" ? "ci" : "zuul";
  }
}

std::string to_yaml(const Topology& topology, std::size_t launcher) {
  std::string yaml = "labels:\n";
  for (const std::string& label : kLabels) yaml += fmt::format("  - name: {}\n", label);
  yaml += "providers:\n";
  for (const std::string& name : topology.launchers[launcher]) {
    yaml += to_yaml(topology.providers.at(name));
  }
  return yaml;
}

config::Config to_config(const Topology& topology, std::size_t launcher) {
  const config::Value document = config::parse_yaml(to_yaml(topology, launcher), "nodepool.yaml");
  config::Config config;
  for (const std::string& label : kLabels) config.labels[label] = config::Label{.name = label};
  for (const config::Value& value : document.find("providers")->as_list()) {
    config::ProviderSection section;
    section.name = value.find("name")->as_string();
    section.driver = value.find("driver")->as_string();
    section.value = value;
    section.file = "nodepool.yaml";
    section.path = "providers (" + section.name + ")";
    config.providers.push_back(std::move(section));
  }
  return config;
}

}  // namespace nodepool::simulation
