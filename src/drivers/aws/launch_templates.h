#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "driver/images.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/config/aws_config.h"
#include "model/installation.h"

namespace nodepool::drivers::aws {

// The launch templates of a provider whose labels have fleets. Their names say what is in them, so
// that one is made once and never changed.
class LaunchTemplates {
 public:
  // `ec2` and `config` outlive it.
  LaunchTemplates(Ec2& ec2, const AwsConfig& config,
                  std::shared_ptr<const model::Installation> installation)
      : ec2_(ec2), config_(config), installation_(std::move(installation)) {}

  // The name of the label's, which is there. Throws CloudError.
  async::Task<std::string> of(std::string pool, std::string label);

  // It is not there after all: the next of() makes it.
  void forget(const std::string& name) { made_.erase(name); }

  // Deletes those of this provider and installation that no label has any more, once. Returns how
  // many. Throws CloudError.
  async::Task<std::int64_t> remove_unused();

 private:
  driver::Metadata tags() const;
  std::set<std::string> wanted() const;
  async::Task<std::vector<LaunchTemplate>> list(bool is_refusal_no_error);

  Ec2& ec2_;
  const AwsConfig& config_;
  std::shared_ptr<const model::Installation> installation_;
  std::set<std::string> made_;
  bool is_clean_ = false;
};

}  // namespace nodepool::drivers::aws
