#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cloud/account_driver.h"
#include "cloud/s3/bucket.h"
#include "driver/statemachine/adapter.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/cloud_endpoint.h"
#include "drivers/aws/config/aws_config.h"
#include "drivers/aws/images/image_store.h"
#include "drivers/aws/instance_launch.h"
#include "drivers/aws/poll_intervals.h"

namespace nodepool::drivers::aws {

// The adapter for Amazon EC2. docs/drivers/aws.md lists its calls.
class AwsAdapter final : public driver::Adapter {
 public:
  // `endpoint` is the endpoint of the configured account.
  AwsAdapter(const cloud::AdapterContext& context, std::shared_ptr<const AwsConfig> config,
             std::shared_ptr<CloudEndpoint> endpoint);

  async::Task<> stop() override;

  async::Task<driver::Instance> create(driver::CreateSpec spec,
                                       driver::LaunchSteps& steps) override;
  async::Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override;
  async::Task<driver::MachineList> list() override;
  async::Task<bool> is_absent(model::Json external_id) override;
  async::Task<std::vector<driver::Resource>> other_resources() override;
  async::Task<> remove_resource(driver::Resource resource) override;
  async::Task<driver::CloudDescription> describe(
      driver::CloudDescription::Purpose purpose) override;
  async::Task<std::optional<std::string>> diagnose(model::Json external_id,
                                                   bool wants_console) override;
  driver::CloudTraits traits() override {
    return {.images = &images_, .consistency_delay = kConsistencyDelay};
  }

 private:
  // The instances outlive the call.
  async::Task<std::shared_ptr<const cloud::ById<Ec2Volume>>> volumes_of(
      const cloud::ById<Ec2Instance>& instances);
  async::Task<driver::Limits> limits();
  async::Task<driver::LabelDescription> describe_label(std::string pool, std::string label);
  async::Task<std::vector<driver::Resource>> host_resources();
  async::Task<std::vector<driver::Resource>> unused_templates();

  std::shared_ptr<const AwsConfig> config_;
  std::shared_ptr<CloudEndpoint> endpoint_;
  CloudEndpoint::Membership membership_;
  Caller caller_;
  Ec2 ec2_;
  Ebs ebs_;
  Imports imports_;
  cloud::Bucket s3_;
  LaunchTemplates templates_;
  MachineContext context_;
  AmiStore images_;
  bool may_list_hosts_ = true;
  std::set<std::string> codes_;  // of the relevant quotas
};

}  // namespace nodepool::drivers::aws
