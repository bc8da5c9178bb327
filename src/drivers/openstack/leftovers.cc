#include "drivers/openstack/leftovers.h"

#include <algorithm>
#include <iterator>

#include "driver/cloud_error.h"

namespace nodepool::drivers::openstack {

using async::Task;
using driver::CloudError;
using driver::Resource;

namespace {

void add(std::vector<Resource>& found, const std::set<std::string>& ids, const char* type,
         const char* why) {
  for (const std::string& id : ids) {
    found.push_back({.type = type, .id = id, .metadata = {}, .leftover = why});
  }
}

}  // namespace

Task<std::vector<Resource>> Leftovers::find() {
  std::vector<Resource> found;
  const bool has_network = co_await context_.api.has_network();
  if (!has_network) co_return found;
  try {
    add(found, co_await ports(), kPortResource, "it was DOWN and unused");
  } catch (const CloudError& error) {
    context_.log.error("Error searching for unused ports: {}", error.what());
  }
  try {
    add(found, co_await floating_ips(), kFloatingIpResource, "it was not attached");
  } catch (const CloudError& error) {
    context_.log.error("Error searching for unattached floating IPs: {}", error.what());
  }
  co_return found;
}

// A port is DOWN briefly while its server starts: only ports that were DOWN last time too.
Task<std::set<std::string>> Leftovers::ports() {
  std::set<std::string> down_twice;
  const async::Duration interval = context_.config.port_cleanup_interval();
  const auto now = context_.runtime.clock.now();
  if (interval <= async::Duration::zero()) co_return down_twice;
  if (ports_seen_at_ && now - *ports_seen_at_ <= interval) co_return down_twice;
  std::set<std::string> unused = co_await unused_ports();
  std::ranges::set_intersection(unused, ports_seen_, std::inserter(down_twice, down_twice.end()));
  ports_seen_ = std::move(unused);
  ports_seen_at_ = now;
  co_return down_twice;
}

Task<std::set<std::string>> Leftovers::unused_ports() {
  std::set<std::string> ids;
  const std::vector<Port> ports = co_await context_.api.network().down_ports();
  for (const Port& port : ports) {
    const std::string& owner = port.device_owner;
    if (owner.empty() || owner == "none" || owner.starts_with("compute:")) ids.insert(port.id);
  }
  co_return ids;
}

Task<std::set<std::string>> Leftovers::floating_ips() {
  std::set<std::string> ids;
  if (!context_.config.clean_floating_ips() || !context_.config.account().has_floating_ips) {
    co_return ids;
  }
  const std::vector<FloatingIp> list = co_await context_.api.network().floating_ips();
  for (const FloatingIp& floating_ip : list) {
    if (floating_ip.port_id.empty()) ids.insert(floating_ip.id);
  }
  co_return ids;
}

}  // namespace nodepool::drivers::openstack
