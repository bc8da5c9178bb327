#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "async/runtime.h"
#include "async/shared_answer.h"
#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/api/service_quotas.h"
#include "drivers/aws/config/aws_config.h"
#include "drivers/aws/poll_policy.h"

namespace nodepool::drivers::aws {

// What there is in the region at one moment, by id.
template <typename Thing>
class ById {
 public:
  explicit ById(std::vector<Thing> things) : things_(std::move(things)) {
    for (std::size_t i = 0; i < things_.size(); ++i) index_.emplace(things_[i].id, i);
  }

  const std::vector<Thing>& all() const { return things_; }
  // nullptr if it is not there.
  const Thing* find(std::string_view id) const {
    const auto found = index_.find(std::string(id));
    return found == index_.end() ? nullptr : &things_[found->second];
  }

 private:
  std::vector<Thing> things_;
  std::unordered_map<std::string, std::size_t> index_;
};

// What is known of an account in a region. Whatever many ask for is asked once for all of them.
// Every function throws CloudError.
class CloudView {
 public:
  // All outlive it.
  CloudView(const async::Runtime& runtime, Ec2& ec2, ServiceQuotas& quotas,
            const PollPolicy& poll_policy);

  using Instances = driver::SharedPoller<ById<Ec2Instance>>;
  // In which launches and removals wait for what they have asked for.
  Instances& instances() { return instances_; }
  // How long instances take to end, to look at them when that is expected.
  driver::BootTimes& removal_times() { return removal_times_; }
  async::Task<std::shared_ptr<const ById<Ec2Volume>>> volumes(async::Duration max_age) {
    return volumes_.get(max_age);
  }

  async::Task<std::shared_ptr<const ById<DedicatedHost>>> hosts(async::Duration max_age) {
    return hosts_.get(max_age);
  }

  // The types of these names; those that EC2 does not know are left out.
  async::Task<std::map<std::string, InstanceType>> types(std::vector<std::string> names);

  // The AMI: by its id without asking, or the newest one that meets the filters; nothing if none
  // does.
  async::Task<std::optional<std::string>> image_id(AmiReference reference);
  // What the AMI's first block device is like; nothing if it is no disk of EBS.
  // CloudError(not_found): the AMI is not shown.
  async::Task<std::optional<Ami::RootDevice>> root_device(std::string image_id);

  // Values by code, of EC2 and EBS.
  async::Task<std::shared_ptr<const std::map<std::string, double>>> quotas();

  // Asks anew for images and quotas when they are needed next.
  void forget();

  // After the last call.
  async::Task<> stop();

 private:
  using ImageId = std::optional<std::string>;

  async::Task<ImageId> ask_image(AmiReference reference);
  async::Task<std::map<std::string, double>> ask_quotas();
  async::Task<ById<Ec2Instance>> ask_instances();
  async::Task<ById<Ec2Volume>> ask_volumes();
  async::Task<ById<DedicatedHost>> ask_hosts();

  async::Runtime runtime_;
  Ec2& ec2_;
  ServiceQuotas& service_quotas_;
  const PollPolicy& poll_policy_;
  Instances instances_;
  driver::BootTimes removal_times_;
  async::SharedAnswer<ById<Ec2Volume>> volumes_;
  async::SharedAnswer<ById<DedicatedHost>> hosts_;
  async::SharedAnswer<std::map<std::string, double>> quotas_;
  // Only those of the configurations.
  std::map<AmiReference, std::unique_ptr<async::SharedAnswer<ImageId>>> images_;
  std::map<std::string, std::optional<Ami::RootDevice>> roots_;  // by the AMI's id
  std::map<std::string, std::optional<InstanceType>> types_;     // nothing: there is none
};

}  // namespace nodepool::drivers::aws
