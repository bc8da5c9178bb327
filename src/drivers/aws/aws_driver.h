#pragma once

#include <set>
#include <string>
#include <string_view>

#include "cloud/account_driver.h"
#include "drivers/aws/account/profile_files.h"
#include "drivers/aws/aws_adapter.h"
#include "drivers/aws/cloud_endpoint.h"
#include "drivers/aws/config/aws_config.h"
#include "drivers/aws/config/aws_schema.h"

namespace nodepool::drivers::aws {

// `driver: aws`: instances in Amazon EC2. See docs/drivers/aws.md.
class AwsDriver final : public cloud::AccountDriver<AwsConfig, CloudEndpoint, AwsAdapter> {
 public:
  using AccountDriver::AccountDriver;

  std::string_view name() const override { return "aws"; }
  const config::Schema& schema() const override { return aws_schema(); }

 private:
  std::set<std::string> account_files(const config::ProviderSection& /*section*/) const override {
    return profile_file_names(environment());
  }
};

}  // namespace nodepool::drivers::aws
