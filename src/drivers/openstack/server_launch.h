#pragma once

#include <optional>
#include <string>

#include "async/runtime.h"
#include "driver/statemachine/adapter.h"
#include "drivers/openstack/addresses.h"
#include "drivers/openstack/cloud_view.h"
#include "drivers/openstack/config/openstack_config.h"
#include "drivers/openstack/poll_policy.h"
#include "drivers/openstack/topology.h"
#include "telemetry/log.h"

namespace nodepool::drivers::openstack {

// The names of the steps of a launch.
inline constexpr const char* kServerStep = "server";
inline constexpr const char* kFloatingIpStep = "floating ip";

// The dependencies of launches and deletions of servers. All of them outlive these.
struct ServerContext {
  async::Runtime runtime;
  const OpenStackConfig& config;
  CloudApi& api;
  CloudView& view;
  const PollPolicy& poll_policy;
  bool host_has_ipv6 = false;
  telemetry::Logger log;
};

// Makes one server; see driver::Adapter::create().
class ServerLaunch {
 public:
  // `steps` outlives it.
  ServerLaunch(ServerContext context, driver::CreateSpec spec, driver::LaunchSteps& steps);

  // Throws CloudError.
  async::Task<driver::Instance> run();

 private:
  const OpenStackLabel& label() const;
  async::Task<std::string> make_server();
  async::Task<ServerRequest> request();
  async::Task<std::string> image_id();
  driver::Metadata metadata() const;
  async::Task<std::optional<std::string>> find_server();
  async::Task<Server> wait_until_active(std::string id);
  async::Task<std::optional<FloatingIp>> attach_floating_ip(Server server,
                                                            const Topology& topology);
  async::Task<std::string> make_floating_ip(std::string network_id, PortChoice port);
  async::Task<std::optional<std::string>> find_floating_ip(std::string port_id);
  async::Task<FloatingIp> wait_for_floating_ip(std::string id);
  async::Task<driver::Resources> taken_by(Server server);

  ServerContext context_;
  driver::CreateSpec spec_;
  driver::LaunchSteps& steps_;
  async::Clock::TimePoint requested_at_;  // when the server was requested, or this run began
  driver::PollWaiter awaited_;
};

// Converts a server to an Instance, without its resources.
driver::Instance describe(const ServerContext& context, const Server& server,
                          const Topology& topology);

}  // namespace nodepool::drivers::openstack
