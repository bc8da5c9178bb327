#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "driver/images.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/config/aws_config.h"
#include "model/installation.h"

namespace nodepool::drivers::aws {

// The launch templates of a provider whose labels have fleets. Their names contain a hash of their
// content, so a template is created once and never changed.
class LaunchTemplates {
 public:
  // `ec2` and `config` outlive it.
  LaunchTemplates(Ec2& ec2, const AwsConfig& config,
                  std::shared_ptr<const model::Installation> installation)
      : ec2_(ec2), config_(config), installation_(std::move(installation)) {}

  // Creates the label's template if necessary, and returns its name. Throws CloudError.
  async::Task<std::string> of(std::string pool, std::string label);

  // The template does not exist: the next of() creates it.
  void forget(const std::string& name) { made_.erase(name); }

  // The names of the templates of this provider and installation that no label uses any more.
  // Searches until there are none. Throws CloudError.
  async::Task<std::vector<std::string>> unused();

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
