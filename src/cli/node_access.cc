#include "cli/node_access.h"

#include <map>
#include <set>

#include "model/lease.h"

namespace nodepool::cli {

namespace {

std::string address_of(const model::Node& node) {
  for (const auto& address :
       {node.interface_ip, node.public_ipv4, node.public_ipv6, node.private_ipv4, node.hostname}) {
    if (address && !address->empty()) return *address;
  }
  return {};
}

}  // namespace

bool is_plain(std::string_view text) {
  // Without '%', which ssh expands.
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@+-";
  return !text.empty() && text.front() != '-' &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::vector<std::string> labels_of(const std::vector<model::Node>& nodes,
                                   const std::vector<std::string>& requested) {
  std::vector<std::string> labels;
  labels.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::optional<model::Lease> lease = lease_of(nodes[i]);
    std::string label = lease ? lease->label : std::string();
    if (label.empty() && i < requested.size()) label = requested[i];
    if (label.empty() && !nodes[i].type.empty()) label = nodes[i].type.front();
    labels.push_back(std::move(label));
  }
  return labels;
}

std::vector<NodeAccess> access_to(const std::vector<model::Node>& nodes,
                                  const std::vector<std::string>& labels) {
  std::vector<NodeAccess> all;
  std::map<std::string, int> count;
  std::set<std::string> taken(labels.begin(), labels.end());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const model::Node& node = nodes[i];
    NodeAccess access;
    access.label = labels.at(i);
    access.id = node.id;
    access.name = access.label + "-" + std::to_string(++count[access.label]);
    // A label may equal the name of another label's node.
    if (!taken.insert(access.name).second) access.name = node.id;
    access.host = address_of(node);
    access.port = node.port();
    access.username = node.username.value_or("");
    access.connection_type = node.connection_type.value_or("ssh");
    access.shell_type = node.shell_type.value_or("");
    access.python_path = node.python_path.value_or("");
    access.host_keys = node.host_keys;
    all.push_back(std::move(access));
  }
  return all;
}

std::string ssh_command(const NodeAccess& node) {
  if (!node.is_ssh() || !is_plain(node.host)) return {};
  if (!node.username.empty() && !is_plain(node.username)) return {};
  std::string command = "ssh";
  if (node.port && *node.port != 22) command += " -p " + std::to_string(*node.port);
  command += ' ';
  if (!node.username.empty()) command += node.username + "@";
  return command + node.host;
}

}  // namespace nodepool::cli
