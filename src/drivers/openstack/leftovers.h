#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/statemachine/instance.h"
#include "drivers/openstack/server_launch.h"

namespace nodepool::drivers::openstack {

// Resource::type of leftovers.
inline constexpr const char* kPortResource = "port";
inline constexpr const char* kFloatingIpResource = "floatingip";

// Finds leftovers of deleted servers: unused ports and unattached floating IPs. These have no tags,
// so they are identified by their state, including those of other users of the project.
class Leftovers {
 public:
  explicit Leftovers(ServerContext context) : context_(std::move(context)) {}

  // Call it every minute. Logs failures and continues.
  async::Task<std::vector<driver::Resource>> find();

 private:
  async::Task<std::set<std::string>> ports();
  async::Task<std::set<std::string>> floating_ips();
  async::Task<std::set<std::string>> unused_ports();

  ServerContext context_;
  std::optional<async::Clock::TimePoint> ports_seen_at_;
  std::set<std::string> ports_seen_;
};

}  // namespace nodepool::drivers::openstack
