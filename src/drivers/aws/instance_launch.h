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
#include "drivers/aws/run_instances_request.h"
#include "drivers/aws/terminator.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// The dependencies of launches and deletions of instances. All of them outlive these.
struct MachineContext {
  async::Runtime runtime;
  const AwsConfig& config;
  Ec2& ec2;
  CloudView& view;
  Terminator& terminator;
  LaunchTemplates& templates;
  telemetry::Logger log;
};

// Makes one instance; see driver::Adapter::create().
class InstanceLaunch {
 public:
  // `steps` outlives it.
  InstanceLaunch(MachineContext context, driver::CreateSpec spec, driver::LaunchSteps& steps);

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  const AwsLabel& label() const;
  async::Task<std::string> make_host();
  async::Task<std::optional<std::string>> find_host();
  async::Task<> wait_for_host();
  async::Task<std::string> make_instance();
  async::Task<std::string> run_instance();
  async::Task<std::string> create_fleet(RunInstancesRequest request);
  RunInstancesRequest parameters(std::string_view step) const;
  std::string token(std::string_view step) const;
  async::Task<std::string> image_id();
  driver::Metadata tags() const;
  async::Task<std::optional<std::string>> find_instance();
  async::Task<Ec2Instance> wait_until_running(std::string id);
  // The resources of an instance with the label, given its actual type. As in the label's need, a
  // volume without configured type does not count.
  async::Task<driver::Resources> resources_with(std::string type_name);

  MachineContext context_;
  driver::CreateSpec spec_;
  driver::LaunchSteps& steps_;
  std::string host_id_;                   // of the dedicated host; empty: none
  async::Clock::TimePoint requested_at_;  // when the instance was requested, or this run began
  driver::PollWaiter awaited_;
};

// Converts an instance to driver::Instance, without resources. The external id omits the dedicated
// host: AWS may have placed the instance on a host of the operator. Only the step that has
// allocated a host, and the host's tags, show that it must be released.
driver::Instance describe(const AwsConfig& config, const Ec2Instance& instance);

}  // namespace nodepool::drivers::aws
