#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "async/runtime.h"
#include "driver/statemachine/adapter.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/cloud_view.h"
#include "drivers/aws/config/aws_config.h"
#include "drivers/aws/launch_templates.h"
#include "drivers/aws/poll_policy.h"
#include "drivers/aws/run_instances_request.h"
#include "drivers/aws/terminator.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// What launches and removals of machines work with. All outlives them.
struct MachineContext {
  async::Runtime runtime;
  const AwsConfig& config;
  Ec2& ec2;
  CloudView& view;
  Terminator& terminator;
  LaunchTemplates& templates;
  const PollPolicy& poll_policy;
  telemetry::Logger log;
};

// The making of one machine: see driver::Adapter::create.
class InstanceLaunch {
 public:
  // `machine` outlives it.
  InstanceLaunch(MachineContext context, driver::CreateSpec spec, driver::LaunchSteps& steps);

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  const AwsLabel& label() const;
  async::Task<std::string> make_host();
  async::Task<std::optional<std::string>> find_host();
  async::Task<> wait_for_host();
  async::Task<std::string> make_instance();
  async::Task<std::string> call_for_instance();
  async::Task<std::string> call_for_fleet(RunInstancesRequest order);
  RunInstancesRequest parameters(std::string_view step) const;
  std::string token(std::string_view step) const;
  async::Task<std::string> image_id();
  driver::Metadata tags() const;
  async::Task<std::optional<std::string>> find_instance();
  async::Task<Ec2Instance> wait_until_running(std::string id);
  // What a machine of the label takes that has turned out to be of this type. A disk of which the
  // label says no type does not count, as in what the label needs before it is launched.
  async::Task<driver::Resources> resources_with(std::string type_name);

  MachineContext context_;
  driver::CreateSpec spec_;
  driver::LaunchSteps& steps_;
  std::string host_id_;                   // of the dedicated host, once there is one
  async::Clock::TimePoint requested_at_;  // the machine; or when this run began
  driver::PollWaiter awaited_;
};

// What a machine that is there takes, with its disks. What is on a dedicated host takes that.
async::Task<driver::Resources> instance_resources(MachineContext context, Ec2Instance instance);

// What the launcher is told of a machine, but for what it takes. Its id is without the dedicated
// host, which may be an operator's, and on which AWS has put the machine by itself: only the step
// that has allocated a host, and the host's own tags, say that it is to be released.
driver::Instance describe(const AwsConfig& config, const Ec2Instance& instance);

}  // namespace nodepool::drivers::aws
