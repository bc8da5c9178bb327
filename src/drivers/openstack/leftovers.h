#pragma once

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

  // To be called every minute. Failures are logged: there is a next time.
  async::Task<> clean();

 private:
  async::Task<> clean_ports();
  async::Task<> clean_floating_ips();
  async::Task<std::set<std::string>> unused_ports();

  ServerContext context_;
  std::optional<async::Clock::TimePoint> ports_seen_at_;
  std::set<std::string> ports_seen_;
};

}  // namespace nodepool::drivers::openstack
