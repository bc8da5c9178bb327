#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cloud/config/loading.h"
#include "driver/statemachine/state_machine_config.h"

namespace nodepool::drivers::example {

// The settings of a cloud image besides driver::ImageAccess.
struct OriginalImage {
  std::string id;  // in the cloud; empty: none configured
  std::string ssh_key;
};

// The settings of a label besides driver::MachineLabel.
struct ExampleLabel {
  OriginalImage image;
  std::string instance_type;
};

// The configuration of a provider. The framework uses the base class, the adapter the members added
// here.
class ExampleConfig final : public driver::StateMachineConfig {
 public:
  // Throws config::ConfigError.
  ExampleConfig(const config::ProviderSection& section, const config::Config& config);

  const std::string& region() const { return region_; }
  const std::string& project() const { return project_; }
  double rate_limit() const { return rate_limit_; }  // calls a second

  // Throws std::out_of_range for an unknown pool or label.
  const ExampleLabel& label(std::string_view pool, std::string_view label) const {
    return driver::of_label(labels_, pool, label);
  }

 private:
  void load_cloud_image(const config::Section& section);
  void load_pool(const config::Section& section, const config::ProviderSection& provider,
                 const config::Config& config);
  void load_label(const config::Section& section, const config::Section& pool_section,
                  const config::Config& config, driver::MachinePool& machine_pool,
                  driver::ByName<ExampleLabel>& labels);

  std::string region_;
  std::string project_;
  double rate_limit_ = 0;
  cloud::CloudImages cloud_images_;
  driver::ByName<OriginalImage> originals_;  // of these
  driver::ByLabel<ExampleLabel> labels_;
};

// The schema of the provider section.
const config::Schema& example_schema();

}  // namespace nodepool::drivers::example
