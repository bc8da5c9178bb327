#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/random.h"
#include "config/config.h"
#include "driver/resources.h"
#include "tests/simulation/harness/shares.h"

namespace nodepool::simulation {

struct HostSpec {
  std::string name;
  std::string username;
  std::vector<std::string> labels;
  std::int64_t slots = 1;
};

struct PoolSpec {
  std::string name;
  std::int64_t priority = 100;
  std::vector<HostSpec> hosts = {};

  // Of clouds.
  std::vector<std::string> labels = {};
  std::optional<std::int64_t> max_servers = {};
  bool ignore_provider_quota = false;
  std::optional<std::size_t> only_launcher = {};  // that serves it; nothing: all of its provider

  // Of nodes on nodes; `max_servers` counts, too.
  std::vector<ShareSpec> shares = {};
};

struct ProviderSpec {
  std::string name;
  std::string driver;  // "static", "simulated", "cloud" or "metastatic"
  std::vector<PoolSpec> pools;
  std::int64_t max_concurrency = -1;
  bool is_configured = true;

  bool is_cloud() const { return driver == "cloud"; }
  bool is_metastatic() const { return driver == "metastatic"; }
};

struct LabelSpec {
  std::int64_t min_ready = 0;
  std::int64_t max_ready_age = 0;
};

// How nodes with a label are used, as `diskimages` says it.
struct ImageSpec {
  std::string username = "zuul";
  std::string python_path = "auto";
};

// Which launchers there are, and what each is configured to serve.
struct Topology {
  std::map<std::string, ProviderSpec> providers;    // by name
  std::vector<std::vector<std::string>> launchers;  // names of providers
  std::map<std::string, LabelSpec> labels;          // those that have something to say
  std::map<std::string, std::int64_t> tenants;      // the most instances of each that has a limit
  std::map<std::string, ImageSpec> images;          // by label; those that differ from the default
  std::optional<std::int64_t> max_hold_age = {};
  std::int64_t pool_timeout = 120;
  bool has_builder = false;  // that makes the image of kBuiltLabel for all clouds

  // That of the metastatic provider, if there is one and it is configured.
  const PoolSpec* shares_pool() const;
};

inline const std::vector<std::string> kLabels{"small", "large", "arm", "gpu"};
inline const std::vector<std::string> kTenants{"acme", "umbrella", "initech"};

// The most nodes that a requestor asks for at once.
inline constexpr std::int64_t kMostNodesAtOnce = 4;

// Its image is one that a builder makes, if there is a builder; those of the others are the
// clouds'.
inline constexpr std::string_view kBuiltLabel = "gpu";

Topology draw_topology(async::Random& random);

// In the order in which the configuration has them.
std::vector<std::string> label_names(const Topology& topology);

// A provider of nodes on nodes, which one or several of the launchers serve.
void add_shares(Topology& topology, async::Random& random);

// One more launcher, which serves what another one does: nodes on nodes, if there are any.
void add_peer(Topology& topology);

// Changes one thing, as an operator would: a host, a pool, a label or a limit comes, goes or
// changes. No pool is without hosts, and no provider without pools.
void change_topology(Topology& topology, async::Random& random);

// Changes what change_topology() leaves alone: a provider, the launchers that serve it, how many
// launches it has at a time, whether its quota is minded.
void change_another_section(Topology& topology, async::Random& random);

// Changes what belongs to no provider: how images are used, what labels and tenants say, and the
// settings at the top.
void change_top_level(Topology& topology, async::Random& random);

// Every provider is configured, and works.
void settle_sections(Topology& topology);

// What a cloud allows a provider.
driver::Limits draw_cloud_limits(async::Random& random);

// The nodepool.yaml of one launcher.
std::string to_yaml(const Topology& topology, std::size_t launcher);
config::Config to_config(const Topology& topology, std::size_t launcher);

}  // namespace nodepool::simulation
