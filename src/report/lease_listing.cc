#include "report/lease_listing.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "report/values.h"

namespace nodepool::report {

using model::json_string;
using model::Node;

namespace {

// The distinct values of a member of the nodes.
model::Json all_of(const std::vector<Node>& nodes, model::SharedText Node::* part) {
  std::set<std::string> texts;
  for (const Node& node : nodes) {
    if (node.*part) texts.insert(*(node.*part));
  }
  return json_of(std::vector<std::string>(texts.begin(), texts.end()));
}

}  // namespace

Table lease_columns() {
  return Table({{.key = "id", .header = "Lease", .is_id = true},
                {"holder", "Holder"},
                {.key = "expires", .header = "Expires", .too_wide = TooWide::kept},
                {"labels", "Labels"},
                {"nodes", "Nodes"},
                {.key = "providers", .header = "Providers", .since = Detail::wide},
                {.key = "owner", .header = "Owner", .since = Detail::wide},
                {.key = "tenants", .header = "Tenants", .since = Detail::wide},
                // The id again, by the name that other documents use.
                {.key = "lease", .header = "", .since = Detail::wide}});
}

void add_lease(Table& table, const model::Lease& lease, const std::vector<Node>& nodes) {
  std::vector<std::string> ids;
  std::vector<std::string> labels;
  for (const Node& node : nodes) {
    ids.push_back(node.id);
    const std::optional<model::Lease> of_node = lease_of(node);
    std::string label = of_node ? of_node->label : std::string();
    if (label.empty() && !node.type.empty()) label = node.type.front();
    labels.push_back(std::move(label));
  }
  table.add({json_string(lease.id), json_string(lease.holder), Time{lease.expires}, json_of(labels),
             json_of(ids), all_of(nodes, &Node::provider),
             lease.owner.empty() ? model::Json() : json_string(lease.owner),
             all_of(nodes, &Node::tenant_name), json_string(lease.id)});
}

}  // namespace nodepool::report
