#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/environment.h"
#include "driver/statemachine/state_machine_config.h"
#include "drivers/gce/config/credential_source.h"

namespace nodepool::drivers::gce {

// A zone of a project, and how to call its API.
struct Account {
  std::string project;
  std::string region;
  std::string zone;
  std::string base_url;  // ends with "/compute/v1"
  CredentialSource credentials;
  std::string ca_file = {};  // see http::TransferOptions

  friend bool operator==(const Account&, const Account&) = default;
};

// An existing image. Either `id` or the other two are set; otherwise the label cannot be served.
struct ImageReference {
  std::string id;  // used as it is
  std::string project;
  std::string family;

  friend auto operator<=>(const ImageReference&, const ImageReference&) = default;
};

// The settings of a label besides driver::MachineLabel.
struct GceLabel {
  std::optional<ImageReference> image;  // nothing: not configured
  std::string ssh_key;                  // "USER:KEY"; empty: none
  std::string instance_type;            // empty: not configured
  std::string volume_type;
  std::int64_t volume_size = 0;  // GB
  std::string network;           // path; empty: the subnetwork's
  std::string subnetwork;        // path; empty: the network's in the region
  driver::Metadata metadata;     // without owner tags and SSH keys
  driver::Metadata labels;
};

// The configuration of a provider with `driver: gce`.
class GceConfig final : public driver::StateMachineConfig {
 public:
  // `environment`: for finding credentials and CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE. Throws
  // config::ConfigError.
  GceConfig(const config::ProviderSection& section, const config::Config& config,
            const config::Environment& environment);

  const Account& account() const { return account_; }
  double rate() const { return rate_; }  // calls a second; 0: no limit

  // Throws std::out_of_range for an unknown name.
  const GceLabel& label(std::string_view pool, std::string_view label) const {
    return driver::of_label(labels_, pool, label);
  }

  // Also compares the account.
  bool same_as(const driver::ProviderConfig& other) const override;

 private:
  struct Images;

  static Images load_images(const config::Section& provider);
  void load_pool(const config::Section& section, const config::ProviderSection& provider,
                 const config::Config& config, const Images& images);

  Account account_;
  double rate_ = 2;
  driver::ByLabel<GceLabel> labels_;
};

}  // namespace nodepool::drivers::gce
