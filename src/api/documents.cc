#include "api/documents.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "json/json.h"
#include "report/listings.h"
#include "report/rendering/table_text.h"
#include "report/shortage.h"

namespace nodepool::api {

using json::Json;
using model::Node;
using model::NodeRequest;
using model::RequestState;

namespace {

// Positions beyond this are not counted.
constexpr std::ptrdiff_t kFarthestPosition = 1000;

// 1 for the request that is served next. Returns null beyond kFarthestPosition and for a request
// that is not queued.
Json position_in_queue(const NodeRequest& request, const model::RequestTable& requests) {
  const auto& queue = requests.waiting();
  auto at = queue.find(request.service_key());
  if (at == queue.end()) return {};
  std::ptrdiff_t position = 1;
  while (at != queue.begin() && position <= kFarthestPosition) {
    --at;
    ++position;
  }
  return position > kFarthestPosition ? Json() : Json(position);
}

Json declines(const NodeRequest& request) {
  Json list = Json::array();
  for (const std::string& pool : request.declined_by) {
    const auto reason = request.decline_reasons.find(pool);
    list.push_back(
        {{"pool", pool},
         {"reason", reason == request.decline_reasons.end() ? Json() : Json(reason->second)}});
  }
  return list;
}

Json brief_node(const Node& node, bool is_locked, double now) {
  report::Table table = report::node_columns(report::Detail::full);
  report::add_node(table, node, is_locked, now, report::Detail::full);
  return json::parse(report::row_json(table, table.rows().front()));
}

// The whole record, in the form of `nodepool request --json`.
Json full_node(const Node& node, const std::string& label) {
  Json document = Json::object();
  document["id"] = node.id;
  document["label"] = label;
  const Json record = json::parse(to_record(node));
  for (const auto& [key, value] : record.items()) document[key] = value;
  return document;
}

// A node of a lease, with the label for which it was requested.
struct Leased {
  std::int64_t index;
  std::string label;
  const Node* node;
};

std::string first_label(const Node& node) {
  return node.type.empty() ? std::string() : node.type.front();
}

// In the order of the request's labels.
std::vector<Leased> leased_nodes(const LeaseIndex::Entry& entry, const model::NodeTable& nodes) {
  std::vector<Leased> list;
  for (const std::string& id : entry.nodes) {
    const Node* node = nodes.find(id);
    const std::optional<model::Lease> lease = node == nullptr ? std::nullopt : lease_of(*node);
    if (!lease) continue;
    list.push_back({lease->index, lease->label.empty() ? first_label(*node) : lease->label, node});
  }
  std::ranges::sort(list, {},
                    [](const Leased& each) { return std::pair(each.index, each.node->id); });
  return list;
}

Json lease_json(const std::string& id, const LeaseIndex::Entry& entry,
                const model::NodeTable& nodes, LoginData login_data, double now) {
  Json document = Json::object();
  document["id"] = id;
  document["owner"] = entry.owner;
  document["holder"] = entry.lease->holder;
  document["tenant"] = entry.tenant.empty() ? Json() : Json(entry.tenant);
  document["expires"] = entry.lease->expires;
  Json list = Json::array();
  for (const Leased& leased : leased_nodes(entry, nodes)) {
    list.push_back(login_data == LoginData::shown
                       ? full_node(*leased.node, leased.label)
                       : brief_node(*leased.node, nodes.is_locked(leased.node->id), now));
  }
  document["nodes"] = std::move(list);
  return document;
}

}  // namespace

std::string lease_request_document(const std::string& id, const NodeRequest& request,
                                   const model::LeaseRequest& lease_request,
                                   const model::RequestTable& requests,
                                   const std::vector<const model::Component*>& pools) {
  Json document = Json::object();
  document["id"] = id;
  // Its nodes are ready, but not leased yet: to the client it is still pending.
  const bool is_being_leased = request.state == RequestState::fulfilled;
  document["state"] = to_string(is_being_leased ? RequestState::pending : request.state);
  document["labels"] = request.node_types;
  document["owner"] = lease_request.owner;
  document["holder"] = lease_request.holder;
  document["tenant"] = request.tenant_name ? Json(*request.tenant_name) : Json();
  document["created"] = request.created_time ? Json(*request.created_time) : Json();
  document["expires"] = lease_request.expires;
  document["position"] = position_in_queue(request, requests);
  document["declined"] = declines(request);
  const bool is_served =
      request.state == RequestState::pending || request.state == RequestState::fulfilled;
  const std::string shortage =
      is_served ? std::string() : report::shortage(pools, request.node_types);
  document["shortage"] = shortage.empty() ? Json() : Json(shortage);
  document["lease"] = Json();
  return json::to_text(document);
}

std::string lease_document(const std::string& id, const LeaseIndex::Entry& entry,
                           const model::NodeTable& nodes, LoginData login_data, double now) {
  return json::to_text(lease_json(id, entry, nodes, login_data, now));
}

std::string login_document(const Node& node) {
  return json::to_text(full_node(node, first_label(node)));
}

std::string fulfilled_document(const std::string& id, const LeaseIndex::Entry& entry,
                               const model::NodeTable& nodes, LoginData login_data, double now) {
  Json document = Json::object();
  document["id"] = id;
  document["state"] = to_string(RequestState::fulfilled);
  Json labels = Json::array();
  for (const Leased& leased : leased_nodes(entry, nodes)) labels.push_back(leased.label);
  document["labels"] = std::move(labels);
  document["owner"] = entry.owner;
  document["holder"] = entry.lease->holder;
  document["tenant"] = entry.tenant.empty() ? Json() : Json(entry.tenant);
  document["created"] = Json();
  document["expires"] = entry.lease->expires;
  document["position"] = Json();
  document["declined"] = Json::array();
  document["shortage"] = Json();
  document["lease"] = lease_json(id, entry, nodes, login_data, now);
  return json::to_text(document);
}

std::string client_document(const Client& client, const LeaseIndex& lease_index) {
  Json document = Json::object();
  document["name"] = client.name;
  document["scope"] = to_string(client.scope);
  document["tenant"] = client.tenant.empty() ? Json() : Json(client.tenant);
  document["may_name_tenants"] = client.may_name_tenants;
  document["labels"] = client.labels.empty() ? Json() : Json(client.labels);
  document["priorities"] = client.priorities.empty() ? Json() : Json(client.priorities);
  document["nodes"] = client.name.empty() ? 0 : lease_index.nodes_of(client.name);
  document["max_nodes"] = client.max_nodes ? Json(*client.max_nodes) : Json();
  document["max_lease"] = client.max_lease ? Json(client.max_lease->count()) : Json();
  document["rate"] = client.rate;
  return json::to_text(document);
}

}  // namespace nodepool::api
