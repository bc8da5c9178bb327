#pragma once

#include <optional>
#include <string>

#include "driver/statemachine/adapter.h"
#include "drivers/ibmvpc/cloud_view.h"
#include "drivers/ibmvpc/config/ibmvpc_config.h"
#include "telemetry/log.h"

namespace nodepool::drivers::ibmvpc {

// The dependencies of launches and deletions of instances. All of them outlive these.
struct VpcContext {
  async::Runtime runtime;
  const IbmVpcConfig& config;
  VpcApi& api;
  CloudView& view;
  telemetry::Logger log;
};

// Makes one instance, and its floating IP if that is configured; see driver::Adapter::create().
// Both have the node's host name.
class VpcLaunch {
 public:
  // `steps` outlives it.
  VpcLaunch(VpcContext context, driver::CreateSpec spec, driver::LaunchSteps& steps);

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  // The results of the steps are the ids of what they make.
  async::Task<std::string> make_instance();
  async::Task<std::optional<std::string>> find_instance();
  async::Task<std::string> make_floating_ip(std::string interface_id);
  async::Task<std::optional<std::string>> find_floating_ip(std::string interface_id);

  async::Task<VpcInstanceRequest> request();
  async::Task<> choose_image(VpcInstanceRequest& wanted);
  async::Task<VpcInstance> wait_until_running(std::string id);
  async::Task<std::string> add_floating_ip(std::string interface_id);
  std::string group() const;

  VpcContext context_;
  driver::CreateSpec spec_;
  driver::LaunchSteps& steps_;
  const VpcLabel& label_;
  async::Clock::TimePoint requested_at_;  // when the instance was requested, or this run began
  driver::PollWaiter awaited_;
  driver::PollWaiter awaited_ip_;
};

// Converts an instance to driver::Instance, without public address and resources.
driver::Instance describe(const VpcAccount& account, const VpcInstance& instance);

}  // namespace nodepool::drivers::ibmvpc
