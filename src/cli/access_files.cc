#include "cli/access_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "model/node.h"

namespace nodepool::cli {

namespace {

constexpr int kSshPort = 22;

// Connection types that are allowed in the inventory. None of them runs anything on the requestor's
// own host, as `local` does.
constexpr std::array<std::string_view, 7> kConnectionTypes = {
    "ssh", "network_cli", "winrm", "psrp", "httpapi", "netconf", "kubectl"};
constexpr std::array<std::string_view, 5> kShellTypes = {"sh", "csh", "fish", "cmd", "powershell"};

bool is_one_of(const auto& words, std::string_view text) {
  return std::ranges::find(words, text) != words.end();
}

// "auto", "python3", "/usr/bin/python3.11", "C:/Python/python.exe"
bool is_path_of_program(std::string_view text) {
  return text.front() != '-' &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._:+-") ==
             std::string_view::npos;
}

// "ssh-ed25519 AAAA…"
bool is_host_key(const std::string& key) {
  return key.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
             "+/=@.- ") == std::string::npos;
}

// Whether the record contains nothing but an address, a user name and host keys.
bool is_sound(const NodeAccess& node) {
  return is_plain(node.host) && (node.username.empty() || is_plain(node.username)) &&
         std::ranges::all_of(node.host_keys, is_host_key);
}

// Ansible would evaluate templates in these values, on the requestor's host.
bool has_inventory_entry(const NodeAccess& node) {
  return is_sound(node) && is_one_of(kConnectionTypes, node.connection_type) &&
         (node.shell_type.empty() || is_one_of(kShellTypes, node.shell_type)) &&
         (node.python_path.empty() || is_path_of_program(node.python_path));
}

// Names with a blank cannot be aliases; '*' and '?' would be patterns.
std::vector<std::string> aliases(const NodeAccess& node, std::set<std::string>& labels_seen) {
  std::vector<std::string> names;
  if (labels_seen.insert(node.label).second && is_plain(node.label)) names.push_back(node.label);
  if (is_plain(node.name)) names.push_back(node.name);
  if (node.id != node.name) names.push_back(node.id);
  return names;
}

// YAML reads JSON's strings.
std::string quoted(const std::string& text) {
  return model::json_string(text).text;
}

std::string ssh_arguments(const NodeAccess& node, const AccessPaths& paths) {
  if (node.host_keys.empty()) {
    return "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null";
  }
  return fmt::format("-o StrictHostKeyChecking=yes -o UserKnownHostsFile='{}'", paths.known_hosts);
}

std::string inventory_host(const NodeAccess& node, const AccessPaths& paths) {
  std::map<std::string, std::string> variables;
  const auto add = [&variables](const char* key, const std::string& value) {
    if (!value.empty()) variables[key] = quoted(value);
  };
  // `!unsafe` prevents evaluation as a template, whatever has_inventory_entry() accepts. (Not for
  // names: with it, some versions of Ansible read "0000000001" as a number and "yes" as a boolean.)
  const auto add_unsafe = [&variables](const char* key, const std::string& value) {
    if (!value.empty()) variables[key] = "!unsafe " + quoted(value);
  };
  add("ansible_host", node.host);
  add("ansible_user", node.username);
  add_unsafe("ansible_connection", node.connection_type);
  add_unsafe("ansible_shell_type", node.shell_type);
  add_unsafe("ansible_python_interpreter", node.python_path);
  add("nodepool_node_id", node.id);
  if (node.port) variables["ansible_port"] = std::to_string(*node.port);
  if (node.is_ssh()) add("ansible_ssh_common_args", ssh_arguments(node, paths));
  std::string text = "        " + quoted(node.name) + ":\n";
  for (const auto& [key, value] : variables) text += fmt::format("          {}: {}\n", key, value);
  return text;
}

}  // namespace

bool has_ssh_entry(const NodeAccess& node) {
  return node.is_ssh() && is_sound(node);
}

std::string ssh_config_text(const std::vector<NodeAccess>& nodes, const AccessPaths& paths) {
  std::string text;
  std::set<std::string> labels_seen;
  for (const NodeAccess& node : nodes) {
    if (!has_ssh_entry(node)) {
      text += fmt::format("# Node {} cannot be reached by SSH.\n\n", node.id);
      continue;
    }
    text += fmt::format("Host {}\n    HostName {}\n", fmt::join(aliases(node, labels_seen), " "),
                        node.host);
    if (node.port) text += fmt::format("    Port {}\n", *node.port);
    if (!node.username.empty()) text += fmt::format("    User {}\n", node.username);
    if (node.host_keys.empty()) {
      text +=
          "    # The node has no recorded host keys: its identity cannot be verified.\n"
          "    StrictHostKeyChecking no\n    UserKnownHostsFile /dev/null\n\n";
    } else {
      text += fmt::format("    StrictHostKeyChecking yes\n    UserKnownHostsFile \"{}\"\n\n",
                          paths.known_hosts);
    }
  }
  return text;
}

std::string known_hosts_text(const std::vector<NodeAccess>& nodes) {
  std::string text;
  for (const NodeAccess& node : nodes) {
    if (!has_ssh_entry(node)) continue;
    const int port = node.port.value_or(kSshPort);
    const std::string host = port == kSshPort ? node.host : fmt::format("[{}]:{}", node.host, port);
    for (const std::string& key : node.host_keys) text += fmt::format("{} {}\n", host, key);
  }
  return text;
}

std::string inventory_text(const std::vector<NodeAccess>& nodes, const AccessPaths& paths) {
  std::map<std::string, std::string> groups;
  std::string omitted;
  for (const NodeAccess& node : nodes) {
    if (has_inventory_entry(node)) {
      groups[node.label] += inventory_host(node, paths);
    } else {
      omitted += fmt::format("# Node {} cannot be reached.\n", node.id);
    }
  }
  std::string text = omitted + "all:\n  children:\n";
  if (groups.empty()) text = omitted + "all: {}\n";
  for (const auto& [label, hosts] : groups) {
    text += "    " + quoted(label) + ":\n      hosts:\n" + hosts;
  }
  return text;
}

config::Environment access_environment(config::Environment base,
                                       const std::vector<NodeAccess>& nodes,
                                       const AccessPaths& paths) {
  const auto set = [&base](const std::string& name, std::string value) {
    std::erase_if(base, [&name](const auto& variable) { return variable.first == name; });
    base.emplace_back(name, std::move(value));
  };
  set("NODEPOOL_SSH_CONFIG", paths.ssh_config);
  set("NODEPOOL_KNOWN_HOSTS", paths.known_hosts);
  set("NODEPOOL_INVENTORY", paths.inventory);
  std::vector<std::string> ids;
  for (const NodeAccess& node : nodes) {
    ids.push_back(node.id);
    const std::string prefix = fmt::format("NODEPOOL_NODE_{}_", ids.size());
    set(prefix + "ID", node.id);
    set(prefix + "LABEL", node.label);
    // Safe on command lines: neither an option nor special to a shell.
    set(prefix + "HOST", is_plain(node.host) ? node.host : "");
    if (node.port) set(prefix + "PORT", std::to_string(*node.port));
    set(prefix + "USER", is_plain(node.username) ? node.username : "");
  }
  set("NODEPOOL_NODES", fmt::format("{}", fmt::join(ids, " ")));
  return base;
}

}  // namespace nodepool::cli
