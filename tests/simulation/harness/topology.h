#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "async/random.h"
#include "config/config.h"

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
  std::vector<HostSpec> hosts;
};

struct ProviderSpec {
  std::string name;
  std::string driver;  // "static" or "simulated"
  std::vector<PoolSpec> pools;
};

// Which launchers there are, and what each is configured to serve.
struct Topology {
  std::map<std::string, ProviderSpec> providers;    // by name
  std::vector<std::vector<std::string>> launchers;  // names of providers
};

inline const std::vector<std::string> kLabels{"small", "large", "arm", "gpu"};

Topology draw_topology(async::Random& random);

// Adds, changes or removes a host of one provider; never the last one.
void change_topology(Topology& topology, async::Random& random);

// The nodepool.yaml of one launcher.
std::string to_yaml(const Topology& topology, std::size_t launcher);
config::Config to_config(const Topology& topology, std::size_t launcher);

}  // namespace nodepool::simulation
