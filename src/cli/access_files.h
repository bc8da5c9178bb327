#pragma once

#include <string>
#include <vector>

#include "cli/node_access.h"
#include "config/environment.h"

// The files and variables by which a command finds its nodes. A node whose record contains anything
// unsafe for such a file is omitted from it, with a comment.
namespace nodepool::cli {

// The paths of the files.
struct AccessPaths {
  std::string ssh_config;
  std::string known_hosts;
  std::string inventory;
};

// Whether the node is reached by SSH, and its record is safe for the files.
bool has_ssh_entry(const NodeAccess& node);

// For ssh -F: each node by its name and its id; the first one of a label also by the label.
std::string ssh_config_text(const std::vector<NodeAccess>& nodes, const AccessPaths& paths);

// The host keys that were recorded when the nodes were launched.
std::string known_hosts_text(const std::vector<NodeAccess>& nodes);

// For Ansible: the nodes, in one group per label.
std::string inventory_text(const std::vector<NodeAccess>& nodes, const AccessPaths& paths);

// `base` with the variables that name the files and the nodes.
config::Environment access_environment(config::Environment base,
                                       const std::vector<NodeAccess>& nodes,
                                       const AccessPaths& paths);

}  // namespace nodepool::cli
