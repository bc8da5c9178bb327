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
  // Unique, also among hosts that come and go: of one that is listed twice only the second counts.
  host.name = fmt::format("host-{}-{}", provider, random.uuid_hex().substr(0, 12));
  host.username = "zuul";
  for (const std::string& label : kLabels) {
    if (chance(random, 0.4)) host.labels.push_back(label);
  }
  if (host.labels.empty()) host.labels.push_back(pick(random, kLabels));
  host.slots = chance(random, 0.6) ? 1 : between(random, 2, 3);
  return host;
}

std::vector<std::string> draw_labels(async::Random& random) {
  std::vector<std::string> labels;
  for (const std::string& label : kLabels) {
    if (chance(random, 0.6)) labels.push_back(label);
  }
  if (labels.empty()) labels.push_back(pick(random, kLabels));
  return labels;
}

std::optional<std::int64_t> draw_max_servers(async::Random& random) {
  if (chance(random, 0.3)) return std::nullopt;
  return chance(random, 0.05) ? 0 : between(random, 1, 6);
}

PoolSpec draw_pool(async::Random& random, const ProviderSpec& provider) {
  PoolSpec pool;
  pool.name = fmt::format("pool{}", random.uuid_hex().substr(0, 8));
  pool.priority = chance(random, 0.7) ? 100 : between(random, 1, 3);
  if (provider.is_cloud()) {
    pool.labels = draw_labels(random);
    pool.max_servers = draw_max_servers(random);
    pool.ignore_provider_quota = chance(random, 0.1);
    return pool;
  }
  const auto hosts = between(random, 1, 3);
  for (std::int64_t j = 0; j < hosts; ++j) {
    pool.hosts.push_back(draw_host(random, provider.name + pool.name));
  }
  return pool;
}

ProviderSpec draw_provider(async::Random& random, std::size_t index) {
  ProviderSpec provider;
  const double kind = random.fraction();
  provider.driver = kind < 0.5 ? "cloud" : kind < 0.85 ? "static" : "simulated";
  provider.name = fmt::format("{}{}", provider.driver, index);
  if (provider.is_cloud() && chance(random, 0.4)) provider.max_concurrency = between(random, 1, 3);
  const auto pools = between(random, 1, 2);
  for (std::int64_t i = 0; i < pools; ++i) provider.pools.push_back(draw_pool(random, provider));
  return provider;
}

LabelSpec draw_label(async::Random& random) {
  LabelSpec label;
  if (chance(random, 0.5)) label.min_ready = between(random, 1, 3);
  if (chance(random, 0.3)) label.max_ready_age = between(random, 30, 300);
  return label;
}

// Another launcher serves the provider as well: all of its pools, or some of them.
void share(ProviderSpec& provider, std::size_t launcher, async::Random& random) {
  if (!provider.is_cloud() || provider.pools.size() < 2 || chance(random, 0.5)) return;
  provider.pools.back().only_launcher = launcher;
  if (chance(random, 0.5)) provider.pools.front().only_launcher = 0;
}

bool is_served(const PoolSpec& pool, std::size_t launcher) {
  return !pool.only_launcher || *pool.only_launcher == launcher;
}

std::string to_yaml(const PoolSpec& pool, bool is_cloud, bool has_builder) {
  std::string yaml =
      fmt::format("      - name: {}\n        priority: {}\n", pool.name, pool.priority);
  if (!pool.shares.empty()) {
    if (pool.max_servers) yaml += fmt::format("        max-servers: {}\n", *pool.max_servers);
    yaml += "        labels:\n";
    for (const ShareSpec& share : pool.shares) yaml += to_yaml(share);
    return yaml;
  }
  if (is_cloud) {
    yaml += fmt::format("        labels: [{}]\n", fmt::join(pool.labels, ", "));
    if (pool.max_servers) yaml += fmt::format("        max-servers: {}\n", *pool.max_servers);
    if (pool.ignore_provider_quota) yaml += "        ignore-provider-quota: true\n";
    if (has_builder) yaml += "        built-images: true\n";
    return yaml;
  }
  yaml += "        nodes:\n";
  for (const HostSpec& host : pool.hosts) {
    yaml +=
        fmt::format("          - {{name: {}, labels: [{}], username: {}, max-parallel-jobs: {}}}\n",
                    host.name, fmt::join(host.labels, ", "), host.username, host.slots);
  }
  return yaml;
}

std::string to_yaml(const ProviderSpec& provider, std::size_t launcher, bool has_builder) {
  std::string yaml = fmt::format("  - name: {}\n    driver: {}\n    max-concurrency: {}\n",
                                 provider.name, provider.driver, provider.max_concurrency);
  if (provider.is_metastatic()) yaml += "    launch-timeout: 600\n    launch-retries: 2\n";
  std::string pools;
  for (const PoolSpec& pool : provider.pools) {
    if (is_served(pool, launcher)) pools += to_yaml(pool, provider.is_cloud(), has_builder);
  }
  return yaml + (pools.empty() ? "    pools: []\n" : "    pools:\n" + pools);
}

void change_cloud(ProviderSpec& provider, async::Random& random) {
  const std::size_t index = random.below(provider.pools.size());
  PoolSpec& pool = provider.pools[index];
  switch (random.below(5)) {
    case 0:
      if (provider.pools.size() < 4) provider.pools.push_back(draw_pool(random, provider));
      break;
    case 1:
      if (provider.pools.size() > 1) {
        provider.pools.erase(provider.pools.begin() + static_cast<std::ptrdiff_t>(index));
      }
      break;
    case 2:
      pool.labels = draw_labels(random);
      break;
    case 3:
      pool.priority = between(random, 1, 3);
      break;
    default:
      pool.max_servers = draw_max_servers(random);
  }
}

void change_hosts(ProviderSpec& provider, async::Random& random) {
  PoolSpec& pool = provider.pools[random.below(provider.pools.size())];
  const std::size_t host = random.below(pool.hosts.size());
  switch (random.below(5)) {
    case 0:
      pool.hosts.push_back(draw_host(random, provider.name + pool.name));
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

void change_shares(ProviderSpec& provider, async::Random& random) {
  PoolSpec& pool = provider.pools.front();
  if (chance(random, 0.3)) {
    pool.max_servers = draw_max_servers(random);
  } else {
    pool.shares = draw_shares(random);
  }
}

// One more launcher serves the provider, or one less.
void hand_over(Topology& topology, const ProviderSpec& provider, async::Random& random) {
  const auto serves = [&provider](const std::vector<std::string>& names) {
    return std::ranges::find(names, provider.name) != names.end();
  };
  const bool has_several = std::ranges::count_if(topology.launchers, serves) > 1;
  const std::size_t index = random.below(topology.launchers.size());
  const bool is_needed = std::ranges::any_of(
      provider.pools, [index](const PoolSpec& pool) { return pool.only_launcher == index; });
  std::vector<std::string>& names = topology.launchers[index];
  if (!serves(names)) {
    names.push_back(provider.name);
  } else if (has_several && !is_needed) {
    std::erase(names, provider.name);
  }
}

void draw_tenants(Topology& topology, async::Random& random) {
  topology.tenants.clear();
  for (const std::string& tenant : kTenants) {
    if (chance(random, 0.3)) topology.tenants[tenant] = between(random, 1, 6);
  }
}

}  // namespace

driver::Limits draw_cloud_limits(async::Random& random) {
  driver::Limits limits;
  if (chance(random, 0.7)) limits["instances"] = static_cast<double>(between(random, 1, 10));
  if (chance(random, 0.3)) limits["cores"] = static_cast<double>(between(random, 2, 16));
  return limits;
}

std::vector<std::string> label_names(const Topology& topology) {
  std::vector<std::string> names = kLabels;
  if (!topology.providers.contains(kSharesProvider)) return names;
  names.insert(names.end(), kShareLabels.begin(), kShareLabels.end());
  return names;
}

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
    if (i == 0) continue;
    // Several launchers may serve the same provider.
    ProviderSpec& first = topology.providers.at(topology.launchers.front().front());
    if (!chance(random, first.is_cloud() ? 0.6 : 0.25)) continue;
    names.push_back(first.name);
    share(first, static_cast<std::size_t>(i), random);
  }
  for (const std::string& label : kLabels) {
    if (chance(random, 0.2)) topology.labels[label] = draw_label(random);
  }
  if (chance(random, 0.5)) draw_tenants(topology, random);
  return topology;
}

void add_shares(Topology& topology, async::Random& random) {
  ProviderSpec provider{.name = kSharesProvider, .driver = "metastatic", .pools = {}};
  if (chance(random, 0.3)) provider.max_concurrency = between(random, 1, 3);
  PoolSpec pool{.name = "main"};
  pool.shares = draw_shares(random);
  pool.max_servers = draw_max_servers(random);
  provider.pools.push_back(std::move(pool));
  topology.providers.emplace(provider.name, std::move(provider));
  const std::size_t first = random.below(topology.launchers.size());
  for (std::size_t i = 0; i < topology.launchers.size(); ++i) {
    if (i == first || chance(random, 0.5)) topology.launchers[i].push_back(kSharesProvider);
  }
  // Nobody recycles what is ready for the sake of those who wait for what it stands on.
  for (const std::string& label : kShareLabels) topology.labels[label].max_ready_age = 60;
}

void add_peer(Topology& topology) {
  const auto serves_shares = [](const std::vector<std::string>& names) {
    return std::ranges::find(names, kSharesProvider) != names.end();
  };
  const auto found = std::ranges::find_if(topology.launchers, serves_shares);
  const auto& names = found == topology.launchers.end() ? topology.launchers.front() : *found;
  topology.launchers.push_back(std::vector(names));
}

const PoolSpec* Topology::shares_pool() const {
  const auto found = providers.find(kSharesProvider);
  if (found == providers.end() || !found->second.is_configured) return nullptr;
  return &found->second.pools.front();
}

void change_topology(Topology& topology, async::Random& random) {
  if (chance(random, 0.1)) return draw_tenants(topology, random);
  if (chance(random, 0.1)) {
    topology.labels[pick(random, kLabels)] = draw_label(random);
    return;
  }
  auto provider = topology.providers.begin();
  std::advance(provider, static_cast<std::ptrdiff_t>(random.below(topology.providers.size())));
  if (provider->second.is_cloud()) {
    change_cloud(provider->second, random);
  } else if (provider->second.is_metastatic()) {
    change_shares(provider->second, random);
  } else {
    change_hosts(provider->second, random);
  }
}

void change_another_section(Topology& topology, async::Random& random) {
  auto entry = topology.providers.begin();
  std::advance(entry, static_cast<std::ptrdiff_t>(random.below(topology.providers.size())));
  ProviderSpec& provider = entry->second;
  switch (random.below(provider.is_cloud() ? 4 : 2)) {
    case 0:
      provider.is_configured = false;
      break;
    case 1:
      hand_over(topology, provider, random);
      break;
    case 2:
      provider.max_concurrency = between(random, -1, 2);
      break;
    default:
      for (PoolSpec& pool : provider.pools) pool.ignore_provider_quota = chance(random, 0.5);
  }
}

void change_top_level(Topology& topology, async::Random& random) {
  static const std::vector<std::string> kUsers{"zuul", "ci", "admin"};
  static const std::vector<std::string> kPythons{"auto", "/usr/bin/python3", "/opt/python"};
  switch (random.below(6)) {
    case 0:
      draw_tenants(topology, random);
      break;
    case 1:
      topology.labels[pick(random, kLabels)] = draw_label(random);
      break;
    case 2:
      topology.max_hold_age.reset();
      if (chance(random, 0.7)) topology.max_hold_age = between(random, 30, 1200);
      break;
    case 3:
      topology.pool_timeout = between(random, 0, 300);
      break;
    default:
      topology.images[pick(random, kLabels)] = {.username = pick(random, kUsers),
                                                .python_path = pick(random, kPythons)};
  }
}

void settle_sections(Topology& topology) {
  for (auto& [name, provider] : topology.providers) {
    provider.is_configured = true;
    if (provider.max_concurrency == 0) provider.max_concurrency = 1;
  }
}

std::string to_yaml(const Topology& topology, std::size_t launcher) {
  std::string yaml = "labels:\n";
  for (const std::string& name : label_names(topology)) {
    const auto label = topology.labels.find(name);
    const LabelSpec spec = label == topology.labels.end() ? LabelSpec() : label->second;
    yaml += fmt::format("  - {{name: {}, min-ready: {}, max-ready-age: {}}}\n", name,
                        spec.min_ready, spec.max_ready_age);
  }
  yaml += "diskimages:\n";
  for (const auto& [name, image] : topology.images) {
    yaml += fmt::format("  - {{name: {}, username: {}, python-path: {}}}\n", name, image.username,
                        image.python_path);
  }
  yaml += fmt::format("pool-timeout: {}\n", topology.pool_timeout);
  if (topology.max_hold_age) yaml += fmt::format("max-hold-age: {}\n", *topology.max_hold_age);
  yaml += "tenant-resource-limits:\n";
  for (const auto& [tenant, most] : topology.tenants) {
    yaml += fmt::format("  - {{tenant-name: {}, max-servers: {}}}\n", tenant, most);
  }
  std::string providers;
  for (const std::string& name : topology.launchers[launcher]) {
    const ProviderSpec& provider = topology.providers.at(name);
    if (provider.is_configured) providers += to_yaml(provider, launcher, topology.has_builder);
  }
  return yaml + (providers.empty() ? "providers: []\n" : "providers:\n" + providers);
}

// Only the providers' sections are read from the text: the rest is known.
config::Config to_config(const Topology& topology, std::size_t launcher) {
  const config::Value document = config::parse_yaml(to_yaml(topology, launcher), "nodepool.yaml");
  config::Config config;
  for (const std::string& name : label_names(topology)) {
    config.labels[name] = config::Label{.name = name};
  }
  for (const auto& [name, label] : topology.labels) {
    config.labels[name].min_ready = label.min_ready;
    config.labels[name].max_ready_age = label.max_ready_age;
  }
  for (const std::string& name : kLabels) config.diskimages[name].name = name;
  for (const auto& [name, image] : topology.images) {
    config.diskimages[name].username = image.username;
    config.diskimages[name].python_path = image.python_path;
  }
  config.max_hold_age = topology.max_hold_age;
  config.pool_timeout = topology.pool_timeout;
  for (const auto& [tenant, most] : topology.tenants) {
    config.tenant_limits[tenant] = {.name = tenant, .limits = {{"instances", most}}};
  }
  for (const config::Value& value : document.find("providers")->as_list()) {
    config::ProviderSection section;
    section.name = value.find("name")->as_string();
    section.driver = value.find("driver")->as_string();
    section.max_concurrency = value.find("max-concurrency")->as_integer();
    section.value = value;
    section.file = "nodepool.yaml";
    section.path = "providers (" + section.name + ")";
    config.providers.push_back(std::move(section));
  }
  return config;
}

}  // namespace nodepool::simulation
