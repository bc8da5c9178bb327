#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/clock.h"
#include "config/environment.h"
#include "driver/statemachine/state_machine_config.h"
#include "drivers/aws/account/account.h"

namespace nodepool::drivers::aws {

// A condition of EC2's.
struct ImageFilter {
  std::string name;
  std::vector<std::string> values;

  friend auto operator<=>(const ImageFilter&, const ImageFilter&) = default;
};

// An AMI that is there already: one of both.
struct AmiReference {
  std::string id;                    // used as it is
  std::vector<ImageFilter> filters;  // or the newest one that meets all of these

  friend auto operator<=>(const AmiReference&, const AmiReference&) = default;
};

// Of the disk that a machine boots from; what is not said is as its image or its type has it.
struct VolumeOptions {
  std::string type;
  std::optional<std::int64_t> size;  // GiB
  std::optional<std::int64_t> iops;
  std::optional<std::int64_t> throughput;  // MiB/s

  // Whether anything is said.
  bool is_wanted() const { return !type.empty() || size || iops || throughput; }
};

// Instance types of which EC2 chooses one.
struct Fleet {
  std::vector<std::string> instance_types;
  std::string allocation_strategy;
};

// One kind of machine, besides what the framework needs to know (driver::MachineLabel).
struct AwsLabel {
  std::optional<AmiReference> cloud_image;  // nothing: it has a diskimage, or no image at all
  std::string instance_type;                // empty: it has a fleet, or no type at all
  std::optional<Fleet> fleet;
  std::optional<std::string> key_name;
  bool ebs_optimized = false;
  VolumeOptions volume;
  std::optional<std::string> userdata;
  std::string profile_name;  // of IAM; or
  std::string profile_arn;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> dynamic_tags;  // with {request.…}
  bool use_spot = false;
  std::string imdsv2;  // "required", "optional", or empty
  bool dedicated_host = false;
};

// How an image that is uploaded becomes an AMI.
struct UploadOptions {
  enum class Method {
    snapshot,    // an object of S3 is imported as a snapshot, of which an AMI is made
    ebs_direct,  // a snapshot is written block by block
    image,       // an object of S3 is imported as an AMI
  };
  Method method = Method::snapshot;
  std::string architecture = "x86_64";
  bool ena_support = true;
  std::string imds_support;  // "v2.0", or empty
  VolumeOptions volume;
};

struct AwsPool {
  std::optional<std::string> subnet_id;
  std::optional<std::string> security_group_id;
  bool public_ipv4 = true;
  bool public_ipv6 = false;
  std::map<std::string, AwsLabel, std::less<>> labels;
};

// A provider with `driver: aws`.
class AwsConfig final : public driver::StateMachineConfig {
 public:
  // `environment`: where AWS' files are, see find_account(). Throws config::ConfigError, also for
  // an account that is not configured.
  AwsConfig(const config::ProviderSection& section, const config::Config& config,
            const config::Environment& environment);

  const Account& account() const { return account_; }
  double rate() const { return rate_; }  // calls a second that change something; 0: no limit

  // Throw std::out_of_range for what is not configured.
  const AwsPool& pool(std::string_view pool) const;
  const AwsLabel& label(std::string_view pool, std::string_view label) const;

  const UploadOptions& upload(std::string_view image) const;
  // Where images are put to be imported; empty: nowhere.
  const std::string& bucket() const { return bucket_; }
  // How long an import is asked for anew while too many are under way.
  async::Duration import_timeout() const { return import_timeout_; }

  // Also when the account is another one.
  bool same_as(const driver::ProviderConfig& other) const override;

 private:
  struct Images;

  Images load_images(const config::Section& provider, const config::Config& config);
  void load_uploads(const config::Section& provider, const config::Config& config);
  void load_pool(const config::Section& section, const config::Section& provider,
                 const config::ProviderSection& provider_section, const config::Config& config,
                 const Images& images);
  void load_label(const config::Section& section, const config::Section& pool_section,
                  const config::Section& provider, const config::Config& config,
                  const Images& images, driver::MachinePool& machine_pool, AwsPool& pool);

  Account account_;
  double rate_ = 2;
  std::string bucket_;
  async::Duration import_timeout_{};
  std::map<std::string, UploadOptions, std::less<>> uploads_;  // by the diskimage's name
  std::map<std::string, AwsPool, std::less<>> aws_pools_;
};

}  // namespace nodepool::drivers::aws
