#include "drivers/static_nodes/slot_record.h"

namespace nodepool::drivers::static_nodes {

using model::Node;
using model::NodeState;
using model::SharedText;

namespace {

// `launcher` in the records of this driver, which have no pool worker.
constexpr auto kLauncherName = "static driver";

}  // namespace

Node make_node(const Host& host, std::int64_t slot, const HostFacts& facts,
               const std::string& provider, const model::Json& attributes, double now) {
  Node node;
  node.set_state(NodeState::ready, now);
  node.created_time = now;
  node.provider = provider;
  node.launcher = kLauncherName;
  node.external_id = model::json_string(host.name);
  node.hostname = host.name;
  node.interface_ip = host.name;
  node.slot = slot;
  refresh_node(node, host, attributes, facts);
  return node;
}

bool is_outdated(const Node& node, const Host& host, const model::Json& attributes) {
  return node.pool != host.pool || node.attributes != attributes || node.type != host.labels ||
         node.username != host.username ||
         node.connection_port.text != std::to_string(host.connection_port) ||
         node.connection_type != host.connection_type ||
         node.shell_type != SharedText(host.shell_type) || node.python_path != host.python_path;
}

bool refresh_node(Node& node, const Host& host, const model::Json& attributes,
                  const HostFacts& facts) {
  bool has_changed = is_outdated(node, host, attributes) || node.host_keys != facts.host_keys;
  node.pool = host.pool;
  node.attributes = attributes;
  node.type = host.labels;
  node.username = host.username;
  node.connection_port = {std::to_string(host.connection_port)};
  node.connection_type = host.connection_type;
  node.shell_type = host.shell_type;
  node.python_path = host.python_path;
  node.host_keys = facts.host_keys;
  if (facts.address) {
    SharedText& address = facts.address->is_ipv6 ? node.public_ipv6 : node.public_ipv4;
    has_changed |= address != facts.address->text;
    address = facts.address->text;
  }
  return has_changed;
}

}  // namespace nodepool::drivers::static_nodes
