#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/schema.h"
#include "driver/statemachine/state_machine_config.h"

namespace nodepool::drivers::metastatic {

// The rules for the backing nodes of one label, in all pools of a provider. Times are in seconds.
struct BackingRules {
  std::string label;              // of the backing nodes
  std::int64_t slots = 1;         // of each backing node
  double grace_time = 60;         // how long one is kept without nodes
  double min_retention = 0;       // how long one is kept at least
  std::optional<double> max_age;  // after which one gets no more nodes; nothing: unlimited

  friend bool operator==(const BackingRules&, const BackingRules&) = default;
};

// The configuration of a provider with `driver: metastatic`.
class MetastaticConfig final : public driver::StateMachineConfig {
 public:
  // Throws config::ConfigError.
  MetastaticConfig(const config::ProviderSection& section, const config::Config& config);

  // The rules of a label; nullptr if no pool has the label.
  const BackingRules* find_rules(std::string_view label) const;

 private:
  void load_pool(const config::Section& section, const config::ProviderSection& provider,
                 const config::Config& config);
  void load_label(const config::Section& section, const config::Section& pool_section,
                  const config::Config& config, driver::MachinePool& machines);

  std::map<std::string, BackingRules, std::less<>> rules_;  // by label
};

// The schema of the provider section.
const config::Schema& metastatic_schema();

}  // namespace nodepool::drivers::metastatic
