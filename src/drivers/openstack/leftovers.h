#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "drivers/openstack/server_launch.h"

namespace nodepool::drivers::openstack {

// What clouds leave behind when servers go: ports that nothing uses, and floating IPs that lead
// nowhere. They carry nobody's mark, so they are told by their state, also those of others.
class Leftovers {
 public:
  explicit Leftovers(ServerContext context) : context_(std::move(context)) {}

  // To be called every minute. Returns how many ports and floating IPs are deleted, by type. What
  // fails is logged, and keeps nothing else.
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
