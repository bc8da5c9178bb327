#pragma once

#include <string>
#include <vector>

#include "cli/node_access.h"
#include "config/environment.h"

// What a command that uses nodes finds them by. Nodes whose records hold anything that does not
// belong into such a file are left out of it, with a comment.
namespace nodepool::cli {

// Where the files are.
struct AccessPaths {
  std::string ssh_config;
  std::string known_hosts;
  std::string inventory;
};

// Whether the node is reached by SSH, and its record can be trusted to be what it should.
bool has_ssh_entry(const NodeAccess& node);

// For ssh -F: each node under its name and its id; the first of a label also under the label.
std::string ssh_config_text(const std::vector<NodeAccess>& nodes, const AccessPaths& paths);

// The host keys that were recorded when the nodes were made.
std::string known_hosts_text(const std::vector<NodeAccess>& nodes);

// For Ansible: the nodes, in one group for each label.
std::string inventory_text(const std::vector<NodeAccess>& nodes, const AccessPaths& paths);

// `base` with the variables that lead to the files and the nodes.
config::Environment access_environment(config::Environment base,
                                       const std::vector<NodeAccess>& nodes,
                                       const AccessPaths& paths);

}  // namespace nodepool::cli
