#include "drivers/openstack/leftovers.h"

#include <iterator>

#include "driver/cloud_error.h"

namespace nodepool::drivers::openstack {

using async::Task;
using driver::CloudError;

Task<std::map<std::string, std::int64_t>> Leftovers::remove() {
  std::map<std::string, std::int64_t> removed;
  const bool has_network = co_await context_.api.has_network();
  if (!has_network) co_return removed;
  try {
    removed["port"] = co_await remove_ports();
  } catch (const CloudError& error) {
    context_.log.error("Error searching for unused ports: {}", error.what());
  }
  try {
    removed["floatingip"] = co_await remove_floating_ips();
  } catch (const CloudError& error) {
    context_.log.error("Error searching for unattached floating IPs: {}", error.what());
  }
  std::erase_if(removed, [](const auto& entry) { return entry.second == 0; });
  co_return removed;
}

// A port is DOWN briefly while its server starts: deletes only ports that were DOWN last time too.
Task<std::int64_t> Leftovers::remove_ports() {
  std::int64_t removed = 0;
  const async::Duration interval = context_.config.port_cleanup_interval();
  const auto now = context_.runtime.clock.now();
  if (interval <= async::Duration::zero()) co_return removed;
  if (ports_seen_at_ && now - *ports_seen_at_ <= interval) co_return removed;
  std::set<std::string> unused = co_await unused_ports();
  for (auto port = unused.begin(); port != unused.end();) {
    const bool is_gone = ports_seen_.contains(*port) && co_await remove_port(*port);
    removed += is_gone ? 1 : 0;
    port = is_gone ? unused.erase(port) : std::next(port);
  }
  ports_seen_ = std::move(unused);
  ports_seen_at_ = now;
  co_return removed;
}

Task<bool> Leftovers::remove_port(std::string id) {
  try {
    co_await context_.api.network().remove_port(id);
  } catch (const CloudError& error) {
    context_.log.error("Error deleting unused port {}: {}", id, error.what());
    co_return false;
  }
  context_.log.warning("Deleted unused port {}, which was DOWN", id);
  co_return true;
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

Task<std::int64_t> Leftovers::remove_floating_ips() {
  std::int64_t removed = 0;
  if (!context_.config.clean_floating_ips() || !context_.config.account().has_floating_ips) {
    co_return removed;
  }
  const std::vector<FloatingIp> list = co_await context_.api.network().floating_ips();
  for (const FloatingIp& floating_ip : list) {
    if (!floating_ip.port_id.empty()) continue;
    const bool is_gone = co_await remove_floating_ip(floating_ip);
    removed += is_gone ? 1 : 0;
  }
  co_return removed;
}

Task<bool> Leftovers::remove_floating_ip(FloatingIp floating_ip) {
  try {
    co_await context_.api.network().remove_floating_ip(floating_ip.id);
  } catch (const CloudError& error) {
    context_.log.error("Error deleting unattached floating IP {}: {}", floating_ip.address,
                       error.what());
    co_return false;
  }
  context_.log.warning("Deleted unattached floating IP {}", floating_ip.address);
  co_return true;
}

}  // namespace nodepool::drivers::openstack
