#pragma once

#include <functional>
#include <optional>
#include <string>

#include "driver/statemachine/adapter.h"
#include "drivers/gce/cloud_view.h"
#include "drivers/gce/config/gce_config.h"
#include "telemetry/log.h"

namespace nodepool::drivers::gce {

// The dependencies of launches and deletions of instances. All of them outlive these.
struct MachineContext {
  async::Runtime runtime;
  const GceConfig& config;
  ComputeEngine& compute;
  CloudView& view;
  telemetry::Logger log;
};

// Makes one instance; see driver::Adapter::create(). The instance has the node's host name, and
// the owner tags in its metadata.
class InstanceLaunch {
 public:
  // `steps` outlives it.
  InstanceLaunch(MachineContext context, driver::CreateSpec spec, driver::LaunchSteps& steps);

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  // The result of the step that makes the instance is the operation, or empty if that is unknown.
  async::Task<std::string> make_instance();
  async::Task<std::optional<std::string>> find_instance();
  async::Task<InstanceRequest> request();
  async::Task<ComputeInstance> wait_until_running(std::string operation);
  async::Task<bool> is_gone();
  async::Task<bool> is_pending(std::string operation);
  [[noreturn]] void fail(const ComputeOperation& operation);

  MachineContext context_;
  driver::CreateSpec spec_;
  driver::LaunchSteps& steps_;
  async::Clock::TimePoint requested_at_;  // when the instance was requested, or this run began
  driver::PollWaiter awaited_;
};

// Deletes an instance and returns when it is gone, with its disk. `accepted`, if set, is called
// when the deletion has been accepted. Throws CloudError, `not_found` if Google does not know the
// instance: it may have been requested a moment ago.
async::Task<> remove_instance(MachineContext context, std::string name,
                              std::function<void()> accepted);

// Converts an instance to driver::Instance, without resources.
driver::Instance describe(const Account& account, const ComputeInstance& instance);

}  // namespace nodepool::drivers::gce
