#include "drivers/openstack/leftovers.h"

#include <exception>

#include "driver/cloud_error.h"

namespace nodepool::drivers::openstack {

using async::Task;
using driver::CloudError;

Task<> Leftovers::clean() {
  const bool has_network = co_await context_.api.has_network();
  if (!has_network) co_return;
  try {
    co_await clean_ports();
  } catch (const CloudError& error) {
    context_.log.error("Unused ports cannot be deleted: {}", error.what());
  }
  try {
    co_await clean_floating_ips();
  } catch (const CloudError& error) {
    context_.log.error("Unattached floating IPs cannot be deleted: {}", error.what());
  }
}

// A port is DOWN for a moment while its server starts: it has to be so twice.
Task<> Leftovers::clean_ports() {
  const async::Duration interval = context_.config.port_cleanup_interval();
  const auto now = context_.runtime.clock.now();
  if (interval <= async::Duration::zero()) co_return;
  if (ports_seen_at_ && now - *ports_seen_at_ <= interval) co_return;
  std::set<std::string> unused = co_await unused_ports();
  bool any_removed = false;
  for (const std::string& id : unused) {
    if (!ports_seen_.contains(id)) continue;
    co_await context_.api.network().remove_port(id);
    context_.log.warning("Deleted port {}, which was DOWN and belonged to nothing", id);
    any_removed = true;
  }
  if (any_removed) unused = co_await unused_ports();
  ports_seen_ = std::move(unused);
  ports_seen_at_ = now;
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

Task<> Leftovers::clean_floating_ips() {
  if (!context_.config.clean_floating_ips() || !context_.config.cloud().has_floating_ips) co_return;
  const std::vector<FloatingIp> list = co_await context_.api.network().floating_ips();
  for (const FloatingIp& floating_ip : list) {
    if (!floating_ip.port_id.empty()) continue;
    co_await context_.api.network().remove_floating_ip(floating_ip.id);
    context_.log.warning("Deleted floating IP {}, which was attached to nothing",
                         floating_ip.address);
  }
}

}  // namespace nodepool::drivers::openstack
