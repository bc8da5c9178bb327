#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/node.h"

namespace nodepool::cli {

// The connection data of a node, for a requestor.
struct NodeAccess {
  std::string label;  // as requested
  std::string id;
  std::string name;  // "<label>-<number>": unique among the nodes of one request
  std::string host;  // empty if the node has no address
  std::optional<int> port;
  std::string username;         // may be empty
  std::string connection_type;  // "ssh" unless the node says otherwise
  std::string shell_type;       // may be empty
  std::string python_path;      // may be empty
  std::vector<std::string> host_keys;

  bool is_ssh() const { return connection_type == "ssh" || connection_type == "network_cli"; }
};

// The labels for which the nodes were requested: by their leases, or else `requested`, in the same
// order. A repeated idempotency key finds a lease that may have fewer nodes: some are released.
std::vector<std::string> labels_of(const std::vector<model::Node>& nodes,
                                   const std::vector<std::string>& requested);

// One for each node; `labels` are theirs, in the same order.
std::vector<NodeAccess> access_to(const std::vector<model::Node>& nodes,
                                  const std::vector<std::string>& labels);

// The command line that logs in; empty if the node is not reached by SSH, or if its record is not
// safe for a shell.
std::string ssh_command(const NodeAccess& node);

// Whether the text is safe in a configuration file: an address, a user name, an alias.
bool is_plain(std::string_view text);

}  // namespace nodepool::cli
