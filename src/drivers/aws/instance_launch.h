#pragma once

#include <optional>
#include <string>

#include "async/runtime.h"
#include "driver/statemachine/adapter.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/cloud_view.h"
#include "drivers/aws/config/aws_config.h"
#include "drivers/aws/launch_templates.h"
#include "drivers/aws/machine_order.h"
#include "drivers/aws/pace.h"
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
  const Pace& pace;
  telemetry::Logger log;
};

// The making of one machine: see driver::Adapter::create.
class InstanceLaunch {
 public:
  // `machine` outlives it.
  InstanceLaunch(MachineContext context, driver::CreateSpec spec, driver::StateMachine& machine);

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  const AwsLabel& label() const;
  async::Task<std::string> make_host();
  async::Task<std::optional<std::string>> find_host();
  async::Task<> wait_for_host();
  async::Task<std::string> make_instance();
  async::Task<std::string> call_for_instance();
  async::Task<std::string> call_for_fleet(MachineOrder order);
  MachineOrder order() const;
  async::Task<std::string> image_id();
  driver::Metadata tags() const;
  async::Task<std::optional<std::string>> find_instance();
  async::Task<Ec2Instance> wait_until_running(std::string id);

  MachineContext context_;
  driver::CreateSpec spec_;
  driver::StateMachine& machine_;
  std::string host_id_;                    // of the dedicated host, once there is one
  std::optional<driver::Resources> disk_;  // what it takes, if it was asked for by this run
  async::Clock::TimePoint requested_at_;   // the machine; or when this run began
  driver::Awaited awaited_;
};

// The next list of instances, once there is one. nullptr if EC2 does not answer now, or with what
// nobody can read: whoever waits for something there looks again later. Throws
// CloudError(permanent): it may not be asked.
async::Task<std::shared_ptr<const Things<Ec2Instance>>> instances_if_answered(
    MachineContext context, driver::Awaited& awaited);

// The same of dedicated hosts, for one that was asked for no longer than `max_age` ago.
async::Task<std::shared_ptr<const Things<DedicatedHost>>> hosts_if_answered(
    MachineContext context, async::Duration max_age);

// What the launcher is told of a machine. `disk`: what its disk takes; nothing: its volumes are
// looked at.
async::Task<driver::Instance> describe(MachineContext context, Ec2Instance instance,
                                       std::optional<driver::Resources> disk = {});

}  // namespace nodepool::drivers::aws
