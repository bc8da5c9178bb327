#include "report/listings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/lease.h"
#include "model/lease_request.h"
#include "report/values.h"

namespace nodepool::report {

namespace {

using model::Json;
using model::json_string;
using model::Node;

// Redacts all but numbers, which may be an object with credentials.
Json port_or_redacted(const Json& port) {
  std::string_view digits = port.text;
  if (digits.starts_with('"')) digits = digits.substr(1, digits.size() - 2);
  const bool is_number =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? port : json_string("redacted");
}

// Adds the columns that the Python Nodepool does not have.
void add_wide(Row& row, const Node& node, double now) {
  const std::optional<model::Lease> lease = lease_of(node);
  const bool is_leased = lease && node.state == model::NodeState::in_use;
  row.insert(row.end(), {json_of(node.tenant_name), json_of(node.requestor),
                         is_leased ? json_string(lease->id) : Json(),
                         is_leased ? Cell(Time{lease->expires}) : Cell(Json()),
                         age_in_seconds(now, node.state_time)});
}

}  // namespace

std::string age_text(double now, double then) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  const auto seconds = static_cast<std::int64_t>(std::floor(now - then));
  const auto days = static_cast<std::int64_t>(std::floor(static_cast<double>(seconds) / kDay));
  const std::int64_t rest = seconds - days * kDay;
  return fmt::format("{:02}:{:02}:{:02}:{:02}", days, rest / kHour, rest % kHour / kMinute,
                     rest % kMinute);
}

Table node_columns(Detail detail) {
  using enum Detail;
  const Table all({
      {.key = "id", .header = "ID", .is_id = true},
      {"provider", "Provider"},
      {"label", "Label"},
      {"server_id", "Server ID"},
      {"public_ipv4", "Public IPv4"},
      {"ipv6", "IPv6"},
      {.key = "state", .header = "State", .too_wide = TooWide::kept},
      {.key = "age", .header = "Age", .too_wide = TooWide::kept},
      {.key = "locked", .header = "Locked", .too_wide = TooWide::kept},
      {.key = "pool", .header = "Pool", .since = full},
      {.key = "hostname", .header = "Hostname", .since = full},
      {.key = "private_ipv4", .header = "Private IPv4", .since = full},
      {.key = "AZ", .header = "AZ", .since = full},
      {.key = "username", .header = "Username", .since = full},
      {.key = "connection_port", .header = "Port", .since = full},
      {.key = "launcher", .header = "Launcher", .since = full},
      {.key = "allocated_to", .header = "Allocated To", .since = full},
      {.key = "hold_job", .header = "Hold Job", .since = full},
      {.key = "comment", .header = "Comment", .since = full},
      {.key = "user_data", .header = "User Data", .since = full},
      {.key = "driver_data", .header = "Driver Data", .since = full},
      {.key = "tenant", .header = "Tenant", .since = wide},
      {.key = "requestor", .header = "Requestor", .since = wide},
      {.key = "lease", .header = "Lease", .since = wide},
      {.key = "expires", .header = "Expires", .since = wide},
      {.key = "age_seconds", .header = "", .since = wide},
  });
  return all.with(detail);
}

void add_node(Table& table, const Node& node, bool locked, double now, Detail detail) {
  Row row = {
      json_string(node.id),
      json_of(node.provider),
      json_of(node.type),
      node.external_id,
      json_of(node.public_ipv4),
      json_of(node.public_ipv6),
      json_string(to_string(node.state)),
      json_string(age_text(now, node.state_time)),
      json_string(locked ? "locked" : "unlocked"),
  };
  if (detail >= Detail::full) {
    const Row more = {
        json_of(node.pool),
        json_of(node.hostname),
        json_of(node.private_ipv4),
        json_of(node.az),
        json_of(node.username),
        port_or_redacted(node.connection_port),
        json_of(node.launcher),
        json_of(node.allocated_to),
        json_of(node.hold_job),
        json_of(node.comment),
        node.user_data,
        node.driver_data,
    };
    row.insert(row.end(), more.begin(), more.end());
  }
  if (detail == Detail::wide) add_wide(row, node, now);
  table.add(std::move(row));
}

Table node_listing(const model::NodeTable& nodes, double now) {
  Table table = node_columns(Detail::wide);
  for (const auto& [id, node] : nodes.all()) {
    add_node(table, node, nodes.is_locked(id), now, Detail::wide);
  }
  return table;
}

Table request_columns() {
  using enum Detail;
  return Table({{.key = "id", .header = "Request ID", .is_id = true},
                {"relative_priority", "Priority"},
                {.key = "state", .header = "State", .too_wide = TooWide::kept},
                {"requestor", "Requestor"},
                {"node_types", "Node Types"},
                {"nodes", "Nodes"},
                {"declined_by", "Declined By"},
                {"event_id", "Event ID"},
                {.key = "provider", .header = "Provider", .since = wide},
                {.key = "tenant", .header = "Tenant", .since = wide},
                {.key = "holder", .header = "Holder", .since = wide},
                {.key = "age", .header = "Age", .since = wide},
                {.key = "age_seconds", .header = "", .since = wide}});
}

void add_request(Table& table, const model::NodeRequest& request, double now) {
  const std::optional<model::LeaseRequest> lease_request = lease_request_of(request);
  table.add({json_string(request.id), json_of(request.relative_priority),
             json_string(to_string(request.state)), json_of(request.requestor),
             json_of(request.node_types), json_of(request.nodes), json_of(request.declined_by),
             json_of(request.event_id), json_of(request.provider), json_of(request.tenant_name),
             lease_request ? json_string(lease_request->holder) : Json(),
             request.created_time ? json_string(age_text(now, *request.created_time)) : Json(),
             request.created_time ? age_in_seconds(now, *request.created_time) : Json()});
}

Table request_listing(const model::RequestTable& requests, double now) {
  Table table = request_columns();
  for (const auto& [id, request] : requests.all()) add_request(table, request, now);
  return table;
}

Table label_columns() {
  return Table({{.key = "label", .header = "Label", .is_id = true},
                {"pools", "Pools"},
                {"free", "Free"},
                {"nodes", "Nodes"}});
}

Table label_listing(const std::vector<const model::Component*>& pools,
                    const model::NodeTable& nodes) {
  struct Supply {
    std::set<std::string> pools;
    std::int64_t free = 0;
    std::int64_t total = 0;
  };
  std::map<std::string, Supply, std::less<>> labels;
  for (const model::Component* pool : pools) {
    for (const std::string& label : pool->supported_labels) {
      labels[label].pools.insert(pool->provider_name + "-" + pool->name);
    }
  }
  for (const auto& [id, node] : nodes.all()) {
    const bool is_free = node.state == model::NodeState::ready && !node.allocated_to;
    for (const std::string& label : node.type) {
      const auto found = labels.find(label);
      if (found == labels.end()) continue;
      ++found->second.total;
      if (is_free) ++found->second.free;
    }
  }
  Table table = label_columns();
  for (const auto& [label, supply] : labels) {
    const std::vector<std::string> names(supply.pools.begin(), supply.pools.end());
    table.add({json_string(label), json_of(names), json_of(supply.free), json_of(supply.total)});
  }
  return table;
}

Table server_listing(const model::NodeTable& nodes, const std::string& provider) {
  Table table({{.key = "id", .header = "ID", .is_id = true},
               {.key = "server_id", .header = "Server ID", .nothing = "None"}});
  for (const std::string& id : nodes.of_provider(provider)) {
    const Node* node = nodes.find(id);
    if (node == nullptr) continue;
    table.add({json_string(id), node->external_id});
  }
  return table;
}

}  // namespace nodepool::report
