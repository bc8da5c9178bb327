#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/environment.h"
#include "driver/images.h"
#include "driver/statemachine/state_machine_config.h"
#include "drivers/azure/config/subscription.h"

namespace nodepool::drivers::azure {

// A resource group, and how to call the API. Providers of one account share its lists.
struct AzureAccount {
  Subscription subscription;
  std::string location;
  std::string resource_group;
  std::string group_location;  // for its creation
  std::string ca_file = {};    // see http::TransferOptions

  friend bool operator==(const AzureAccount&, const AzureAccount&) = default;
};

// Conditions on an image of the resource group. Empty ones hold always.
struct GroupImageFilter {
  std::string name;
  std::string location;
  driver::Metadata tags;

  friend bool operator==(const GroupImageFilter&, const GroupImageFilter&) = default;
};

// How to make a machine from an image, and what to set up in it.
struct AzureImage {
  driver::Metadata reference;              // the API's `imageReference`; empty: see `filter`
  std::optional<GroupImageFilter> filter;  // of a cloud image
  std::string username;                    // empty: none
  std::string key;                         // SSH public key; empty: none
  std::string password;                    // empty: none. Never log it.
  bool generate_password = false;

  friend bool operator==(const AzureImage&, const AzureImage&) = default;
};

// The settings of a label besides driver::MachineLabel.
struct AzureLabel {
  std::optional<AzureImage> image;  // `reference` is empty for a diskimage; nothing: no image
  std::string size;                 // "Standard_D2s_v3"
  std::optional<std::int64_t> volume_size;  // GB
  bool use_spot = false;
  std::string user_data;
  std::string custom_data;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> dynamic_tags;  // with {request.…}
};

// The settings of a pool besides driver::MachinePool.
struct AzurePool {
  bool ipv4 = true;
  bool ipv6 = false;
  bool public_ipv4 = true;
  bool public_ipv6 = false;
  driver::ByName<AzureLabel> labels;
};

// The configuration of a provider with `driver: azure`.
class AzureConfig final : public driver::StateMachineConfig {
 public:
  // `environment`: for finding credentials, see find_subscription(). Throws config::ConfigError.
  AzureConfig(const config::ProviderSection& section, const config::Config& config,
              const config::Environment& environment);

  const AzureAccount& account() const { return account_; }
  double rate() const { return rate_; }                        // calls a second; 0: no limit
  const std::string& subnet_id() const { return subnet_id_; }  // the resource id

  // These throw std::out_of_range for an unknown name.
  const AzurePool& pool(std::string_view pool) const {
    return driver::named(azure_pools_, "pool", pool);
  }
  const AzureLabel& label(std::string_view pool, std::string_view label) const {
    return driver::named(this->pool(pool).labels, "label", label);
  }

  // Also compares the account.
  bool same_as(const driver::ProviderConfig& other) const override;

 private:
  struct Images;

  Images load_images(const config::Section& provider, const config::Config& config);
  void load_pool(const config::Section& section, const config::Section& provider,
                 const config::ProviderSection& provider_section, const config::Config& config,
                 const Images& images);

  AzureAccount account_;
  double rate_ = 1;
  std::string subnet_id_;
  driver::ByName<AzurePool> azure_pools_;
};

// The credentials file of a provider section; empty: none.
std::string auth_path_of(const config::ProviderSection& section,
                         const config::Environment& environment);

}  // namespace nodepool::drivers::azure
