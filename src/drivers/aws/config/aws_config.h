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

// A filter for AMIs.
struct ImageFilter {
  std::string name;
  std::vector<std::string> values;

  friend auto operator<=>(const ImageFilter&, const ImageFilter&) = default;
};

// An existing AMI. If both fields are set, `id` counts.
struct AmiReference {
  std::string id;
  std::vector<ImageFilter> filters;  // the newest AMI that matches all of these

  bool is_empty() const { return id.empty() && filters.empty(); }
  friend auto operator<=>(const AmiReference&, const AmiReference&) = default;
};

// Options of the root volume. Missing ones default to those of the image or the volume type.
struct VolumeOptions {
  std::string type;
  std::optional<std::int64_t> size;  // GiB
  std::optional<std::int64_t> iops;
  std::optional<std::int64_t> throughput;  // MiB/s

  // Whether any option is set.
  bool is_wanted() const { return !type.empty() || size || iops || throughput; }
};

// Instance types from which EC2 chooses one.
struct Fleet {
  std::vector<std::string> instance_types;
  std::string allocation_strategy;
};

// The settings of a label besides driver::MachineLabel.
struct AwsLabel {
  std::optional<AmiReference> cloud_image;  // nothing: the label has a diskimage or no image
  std::string instance_type;                // empty: the label has a fleet or no type
  std::optional<Fleet> fleet;
  std::optional<std::string> key_name;
  bool ebs_optimized = false;
  VolumeOptions volume;
  std::optional<std::string> userdata;
  std::string profile_name;  // IAM instance profile: name or ARN
  std::string profile_arn;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> dynamic_tags;  // with {request.…}
  bool use_spot = false;
  std::string imdsv2;  // "required", "optional", or empty
  bool dedicated_host = false;
};

// How an uploaded image becomes an AMI.
struct UploadOptions {
  enum class Method {
    snapshot,    // imports an S3 object as a snapshot, and registers an AMI
    ebs_direct,  // writes a snapshot block by block, and registers an AMI
    image,       // imports an S3 object as an AMI
  };
  Method method = Method::snapshot;
  std::string architecture = "x86_64";
  bool ena_support = true;
  std::string imds_support;  // "v2.0", or empty
  VolumeOptions volume;
};

// The settings of a pool besides driver::MachinePool.
struct AwsPool {
  std::optional<std::string> subnet_id;
  std::optional<std::string> security_group_id;
  bool public_ipv4 = true;
  bool public_ipv6 = false;
  driver::ByName<AwsLabel> labels;
};

// The configuration of a provider with `driver: aws`.
class AwsConfig final : public driver::StateMachineConfig {
 public:
  // `environment`: for finding AWS's files, see find_account(). Throws config::ConfigError.
  AwsConfig(const config::ProviderSection& section, const config::Config& config,
            const config::Environment& environment);

  const Account& account() const { return account_; }
  double rate() const { return rate_; }  // mutating calls a second; 0: no limit

  // These throw std::out_of_range for an unknown name.
  const AwsPool& pool(std::string_view pool) const {
    return driver::named(aws_pools_, "pool", pool);
  }
  const AwsLabel& label(std::string_view pool, std::string_view label) const {
    return driver::named(this->pool(pool).labels, "label", label);
  }
  const UploadOptions& upload(std::string_view image) const {
    return driver::named(uploads_, "diskimage", image);
  }
  // The bucket for images to import; empty: none.
  const std::string& bucket() const { return bucket_; }
  // How long to retry an import while too many are running.
  async::Duration import_timeout() const { return import_timeout_; }

  // Also compares the account.
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
  driver::ByName<UploadOptions> uploads_;  // by the diskimage's name
  driver::ByName<AwsPool> aws_pools_;
};

}  // namespace nodepool::drivers::aws
