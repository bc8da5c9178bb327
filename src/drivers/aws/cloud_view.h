#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/shared_result.h"
#include "cloud/by_id.h"
#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/api/service_quotas.h"
#include "drivers/aws/config/aws_config.h"

namespace nodepool::drivers::aws {

// A shared cache of the listings of an account in a region. All functions throw CloudError.
class CloudView {
 public:
  // The references outlive it.
  CloudView(const async::Runtime& runtime, Ec2& ec2, ServiceQuotas& quotas);

  using Instances = driver::SharedPoller<cloud::ById<Ec2Instance>>;
  // Launches and deletions wait for changes in it.
  Instances& instances() { return instances_; }
  // How long instances take to terminate, to schedule polls.
  driver::BootTimes& removal_times() { return removal_times_; }
  async::Task<std::shared_ptr<const cloud::ById<Ec2Volume>>> volumes(async::Duration max_age) {
    return volumes_.get(max_age);
  }

  async::Task<std::shared_ptr<const cloud::ById<DedicatedHost>>> hosts(async::Duration max_age) {
    return hosts_.get(max_age);
  }

  // The instance types with these names. Omits unknown ones.
  async::Task<std::map<std::string, InstanceType>> types(std::vector<std::string> names);

  // The id of the AMI: the configured id, without a call, or the newest one that matches the
  // filters. Returns nothing if none matches.
  async::Task<std::optional<std::string>> image_id(AmiReference reference);
  // The AMI's first block device; nothing if it is no EBS volume. CloudError(not_found): the AMI is
  // not listed.
  async::Task<std::optional<Ami::RootDevice>> root_device(std::string image_id);

  // Quotas of EC2 and EBS by code.
  async::Task<std::shared_ptr<const std::map<std::string, double>>> quotas();

  // Drops the cached images and quotas.
  void forget();

  // Call it after the last call of the other functions.
  async::Task<> stop();

 private:
  using ImageId = std::optional<std::string>;

  async::Task<ImageId> ask_image(AmiReference reference);
  async::Task<std::map<std::string, double>> ask_quotas();

  async::Runtime runtime_;
  Ec2& ec2_;
  ServiceQuotas& service_quotas_;
  Instances instances_;
  driver::BootTimes removal_times_;
  async::SharedResult<cloud::ById<Ec2Volume>> volumes_;
  async::SharedResult<cloud::ById<DedicatedHost>> hosts_;
  async::SharedResult<std::map<std::string, double>> quotas_;
  // Only references of the configurations.
  std::map<AmiReference, std::unique_ptr<async::SharedResult<ImageId>>> images_;
  std::map<std::string, std::optional<Ami::RootDevice>> roots_;  // by the AMI's id
  std::map<std::string, std::optional<InstanceType>> types_;     // nothing: unknown type
};

}  // namespace nodepool::drivers::aws
