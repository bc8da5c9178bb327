#include "tests/drivers/aws/stand_in/dedicated_hosts.h"

#include <fmt/format.h>

namespace nodepool::drivers::aws {

namespace {

// `unsuccessful` is why this one could not be released; empty: it was.
std::string released(const std::string& id, const std::string& unsuccessful) {
  if (unsuccessful.empty()) {
    return fmt::format(
        "<ReleaseHostsResponse><successful><item>{}</item></successful></ReleaseHostsResponse>",
        id);
  }
  return fmt::format(
      "<ReleaseHostsResponse><unsuccessful><item><resourceId>{}</resourceId><error>"
      "<code>{}</code><message>as it is now</message></error></item></unsuccessful>"
      "</ReleaseHostsResponse>",
      id, unsuccessful);
}

}  // namespace

std::string DedicatedHosts::allocate(const Parameters& query, Tags tags) {
  std::string& id = tokens_[query.at("ClientToken")];
  if (id.empty()) {
    id = fmt::format("h-{:08}", ++next_id_);
    hosts[id] = {.type = query.at("InstanceType"),
                 .zone = query.at("AvailabilityZone"),
                 .tags = std::move(tags),
                 .instance = {},
                 .made = runtime_.clock.now()};
  }
  return fmt::format(
      "<AllocateHostsResponse><hostIdSet><item>{}</item></hostIdSet></AllocateHostsResponse>", id);
}

std::string DedicatedHosts::describe() const {
  std::string items;
  for (const auto& [id, host] : hosts) {
    const bool is_there = runtime_.clock.now() >= host.made + allocation_time;
    std::string tag_items;
    for (const auto& [key, value] : host.tags) {
      tag_items += fmt::format("<item><key>{}</key><value>{}</value></item>", key, value);
    }
    items += fmt::format(
        "<item><hostId>{}</hostId><state>{}</state><availabilityZone>{}</availabilityZone>"
        "<hostProperties><instanceType>{}</instanceType></hostProperties><tagSet>{}</tagSet>"
        "</item>",
        id, is_there ? "available" : "pending", host.zone, host.type, tag_items);
  }
  return "<DescribeHostsResponse><hostSet>" + items + "</hostSet></DescribeHostsResponse>";
}

std::string DedicatedHosts::release(const std::string& id) {
  const auto host = hosts.find(id);
  if (host == hosts.end()) return released(id, "Client.InvalidHost.NotFound");
  if (!host->second.instance.empty()) return released(id, "Client.InvalidHost.Occupied");
  hosts.erase(host);
  return released(id, {});
}

std::string DedicatedHosts::place(const std::string& id, const std::string& type,
                                  const std::string& instance) {
  const auto host = hosts.find(id);
  if (host == hosts.end()) return "InvalidHostID.NotFound";
  const bool is_there = runtime_.clock.now() >= host->second.made + allocation_time;
  if (!is_there || host->second.type != type) return "InvalidHostState";
  if (!host->second.instance.empty()) return "InsufficientCapacityOnHost";
  host->second.instance = instance;
  return {};
}

void DedicatedHosts::release_slot(const std::string& instance) {
  for (auto& [id, host] : hosts) {
    if (host.instance == instance) host.instance.clear();
  }
}

}  // namespace nodepool::drivers::aws
