#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/environment.h"
#include "driver/images.h"
#include "driver/resources.h"
#include "driver/statemachine/state_machine_config.h"
#include "drivers/ibmvpc/config/iam_credentials.h"

namespace nodepool::drivers::ibmvpc {

// A region of an IBM Cloud account, and how to call its APIs.
struct VpcAccount {
  std::string region;
  std::string vpc_url;     // of the VPC API; ends with "/v1"
  std::string groups_url;  // of the resource manager
  IamCredentials credentials;
  std::string ca_file = {};          // see http::TransferOptions
  std::string storage_ca_file = {};  // the same for the object storage

  friend bool operator==(const VpcAccount&, const VpcAccount&) = default;
};

// An existing image: exactly one of the first three is set, or it is the first with all of the
// properties.
struct VpcImageSource {
  std::string id;
  std::string href;
  std::string name;
  driver::Metadata operating_system;  // by the API's names; empty: any
  std::string owner_type;             // empty: any
  std::string status;                 // empty: any
};

// The settings of a label besides driver::MachineLabel, including those of its pool.
struct VpcLabel {
  std::optional<VpcImageSource> image;  // nothing: an uploaded one, or none
  std::vector<std::string> keys;        // names of SSH keys
  std::string profile;
  std::string user_data;  // empty: none
  std::string volume_profile;
  std::optional<std::int64_t> volume_iops;
  std::vector<std::string> security_groups;  // ids; empty: the VPC's default one
  std::string zone;
  std::string subnet;  // name
  bool public_ipv4 = false;
};

// The bucket of Cloud Object Storage from which images are imported.
struct ImageBucket {
  std::string endpoint;  // URL; empty: there is none
  std::string name;
};

// The configuration of a provider with `driver: ibmvpc`.
class IbmVpcConfig final : public driver::StateMachineConfig {
 public:
  // `environment`: for finding credentials, VPC_URL and RESOURCE_MANAGER_URL. Throws
  // config::ConfigError.
  IbmVpcConfig(const config::ProviderSection& section, const config::Config& config,
               const config::Environment& environment);

  const VpcAccount& account() const { return account_; }
  const std::string& vpc() const { return vpc_; }         // name
  double rate() const { return rate_; }                   // calls a second; 0: no limit
  const driver::Limits& quota() const { return quota_; }  // `ram` in GB

  const ImageBucket& image_bucket() const { return image_bucket_; }

  // The operating system of an uploaded image, by the API's name. Throws std::out_of_range for an
  // unknown diskimage.
  const std::string& operating_system(std::string_view image) const {
    return driver::named(operating_systems_, "diskimage", image);
  }

  // Throws std::out_of_range for an unknown name.
  const VpcLabel& label(std::string_view pool, std::string_view label) const {
    return driver::of_label(labels_, pool, label);
  }

  // Also compares the account.
  bool same_as(const driver::ProviderConfig& other) const override;

 private:
  struct Images;

  static Images load_images(const config::Section& provider);
  void load_uploads(const config::Section& provider, const config::Config& config);
  void load_quota(const config::Section& provider);
  void load_pool(const config::Section& pool, const config::Section& provider,
                 const config::ProviderSection& section, const config::Config& config,
                 const Images& images);
  void load_label(const config::Section& label, const VpcLabel& defaults,
                  const config::Config& config, const Images& images, driver::MachinePool& machines,
                  driver::ByName<VpcLabel>& labels);

  VpcAccount account_;
  std::string vpc_;
  double rate_ = 1;
  driver::Limits quota_;
  ImageBucket image_bucket_;
  driver::ByName<std::string> operating_systems_;  // by the diskimage's name
  driver::ByLabel<VpcLabel> labels_;
};

// The files in which the credentials of a provider section may be.
std::set<std::string> credential_files(const config::ProviderSection& section,
                                       const config::Environment& environment);

}  // namespace nodepool::drivers::ibmvpc
