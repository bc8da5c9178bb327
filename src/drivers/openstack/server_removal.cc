#include "drivers/openstack/server_removal.h"

#include <algorithm>
#include <set>

#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "driver/statemachine/launch_journal.h"
#include "driver/statemachine/shared_poller.h"
#include "driver/statemachine/wait_in_listing.h"

namespace nodepool::drivers::openstack {

using async::Task;
using driver::CloudError;

namespace {

bool leads_to(const FloatingIp& floating_ip, const std::string& server_id,
              const std::set<std::string>& ports, const std::set<std::string>& addresses) {
  return floating_ip.device_id == server_id || ports.contains(floating_ip.port_id) ||
         addresses.contains(floating_ip.address);
}

// The floating addresses in the server's list entry.
std::set<std::string> floating_addresses(const Server* server) {
  std::set<std::string> addresses;
  if (server == nullptr) return addresses;
  for (const auto& [network, entries] : server->addresses) {
    for (const ServerAddress& entry : entries) {
      if (entry.type == "floating") addresses.insert(entry.address);
    }
  }
  return addresses;
}

// Whether the server has no floating IP, not even one that its list entry does not show yet.
// Without `use_external_network`, public addresses are not recorded.
bool certainly_has_none(const Cloud& cloud, const Server* server,
                        const std::optional<std::string>& public_ipv4) {
  if (!cloud.use_external_network) return false;
  if (server == nullptr || !public_ipv4 || !floating_addresses(server).empty()) return false;
  if (public_ipv4->empty()) return true;
  return std::ranges::any_of(server->addresses, [&public_ipv4](const auto& network) {
    return std::ranges::any_of(network.second, [&public_ipv4](const ServerAddress& entry) {
      return entry.type == "fixed" && entry.address == *public_ipv4;
    });
  });
}

CloudError unlisted_floating_ips(const std::string& server_id) {
  return {CloudError::Kind::transient,
          "server " + server_id +
              " has floating IPs that cannot be listed: delete them, or set `floating_ip_source: "
              "None` in clouds.yaml"};
}

// Includes floating IPs that the server's list entry does not show yet.
Task<std::set<std::string>> floating_ips_of(ServerContext context, std::string server_id,
                                            std::optional<std::string> public_ipv4) {
  std::set<std::string> ids;
  std::shared_ptr<const CloudView::FloatingIps> list;
  std::optional<CloudError> failure;
  try {
    list = co_await context.view.floating_ips();
  } catch (const CloudError& error) {
    failure = error;
  }
  if (list && list->all.empty() && !list->is_missing) co_return ids;
  const auto servers = co_await context.view.servers().get(context.poll_policy.poll);
  const Server* server = servers->find(server_id);
  if (failure && certainly_has_none(context.config.account(), server, public_ipv4)) {
    context.log.warning("Server {} has no floating IP to delete; listing them failed: {}",
                        server_id, failure->what());
    co_return ids;
  }
  if (failure) throw CloudError(*failure);
  const std::set<std::string> addresses = floating_addresses(server);
  if (list->is_missing && !addresses.empty()) {
    throw unlisted_floating_ips(server_id);
  }
  // Older clouds do not return the server of a floating IP's port.
  std::set<std::string> ports;
  const bool is_unclear = std::ranges::any_of(list->all, [](const FloatingIp& floating_ip) {
    return !floating_ip.port_id.empty() && floating_ip.device_id.empty();
  });
  if (is_unclear) {
    const auto of_server = co_await context.api.network().ports_of(server_id);
    for (const Port& port : of_server) ports.insert(port.id);
  }
  for (const FloatingIp& floating_ip : list->all) {
    if (leads_to(floating_ip, server_id, ports, addresses)) ids.insert(floating_ip.id);
  }
  co_return ids;
}

Task<> remove_floating_ips(ServerContext context, std::string server_id,
                           std::optional<std::string> public_ipv4) {
  const std::set<std::string> ids =
      co_await floating_ips_of(context, server_id, std::move(public_ipv4));
  if (ids.empty()) co_return;
  for (const std::string& id : ids) co_await context.api.network().remove_floating_ip(id);
  while (true) {
    co_await context.runtime.clock.sleep_for(context.poll_policy.poll);
    const auto list =
        co_await driver::if_answered(context.view.floating_ips(), "floating IPs", context.log);
    if (!list) continue;
    if (list->is_missing) throw unlisted_floating_ips(server_id);
    const bool remains = std::ranges::any_of(list->all, [&ids](const FloatingIp& floating_ip) {
      return ids.contains(floating_ip.id) && floating_ip.status != "DOWN";
    });
    if (!remains) co_return;
  }
}

Task<bool> request_removal(ServerContext context, std::string server_id) {
  co_return co_await driver::if_exists(context.api.compute().remove(std::move(server_id)));
}

void throw_if_deletion_failed(const Server& server) {
  if (server.status != "ERROR" || !server.task.empty()) return;
  throw CloudError(CloudError::Kind::failed,
                   "error deleting server " + server.id + ": " + server.fault);
}

}  // namespace

std::optional<std::string> launched_public_ipv4(const model::Node* node) {
  if (node == nullptr) return std::nullopt;
  if (node->launch_journal.is_null()) return node->public_ipv4.to_optional();
  try {
    const auto journal = driver::LaunchJournal::parse(node->launch_journal);
    const bool is_known =
        journal.steps.contains(kServerStep) && !journal.steps.contains(kFloatingIpStep);
    return is_known ? std::optional<std::string>("") : std::nullopt;
  } catch (const model::RecordError&) {
    return std::nullopt;
  }
}

Task<> remove_server(ServerContext context, std::string server_id,
                     std::optional<std::string> public_ipv4, std::function<void()> accepted) {
  co_await remove_floating_ips(context, server_id, std::move(public_ipv4));
  const bool was_there = co_await request_removal(context, server_id);
  if (!was_there) co_return;
  if (accepted) accepted();
  // An older list might not show the server yet, or show an earlier fault.
  driver::PollWaiter awaited = context.view.servers().await_removal();
  const auto removal_of = [](const Server& server) {
    throw_if_deletion_failed(server);
    if (server.is_deleted()) return driver::Removal::done;
    return server.is_going() ? driver::Removal::in_progress : driver::Removal::not_begun;
  };
  // Nova omits the servers of a cell that does not respond.
  const std::function<Task<bool>()> is_gone = [&context, &server_id] {
    return context.api.compute().is_gone(server_id);
  };
  const driver::ListingWait wait{context.runtime, context.log, "servers"};
  co_await driver::wait_until_gone(wait, context.view.servers(), awaited, server_id, removal_of,
                                   context.poll_policy.consistency_delay, is_gone);
}

}  // namespace nodepool::drivers::openstack
