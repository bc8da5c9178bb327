#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "drivers/openstack/server_launch.h"

namespace nodepool::drivers::openstack {

// Deletes leftovers of deleted servers: unused ports and unattached floating
// IPs. These have no tags, so they are identified by their state, including those of other users of
// the project.
class Leftovers {
 public:
  explicit Leftovers(ServerContext context) : context_(std::move(context)) {}

  // Call it every minute. Returns the number of deleted ports and floating IPs, by type. Logs
  // failures and continues.
  async::Task<std::map<std::string, std::int64_t>> remove();

 private:
  async::Task<std::int64_t> remove_ports();
  async::Task<std::int64_t> remove_floating_ips();
  async::Task<bool> remove_port(std::string id);
  async::Task<bool> remove_floating_ip(FloatingIp floating_ip);
  async::Task<std::set<std::string>> unused_ports();

  ServerContext context_;
  std::optional<async::Clock::TimePoint> ports_seen_at_;
  std::set<std::string> ports_seen_;
};

}  // namespace nodepool::drivers::openstack
