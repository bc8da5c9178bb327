#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "async/signals.h"
#include "cli/access_files.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/private_directory.h"

namespace nodepool::cli {

namespace {

NodeAccess access_by_ssh(const model::Node& node) {
  const std::string label = node.type.empty() ? node.id : node.type.front();
  NodeAccess access = access_to({node}, {label}).front();
  if (access.host.empty()) {
    throw std::runtime_error(
        fmt::format("node {} is {} and has no address", node.id, to_string(node.state)));
  }
  if (!has_ssh_entry(access)) {
    throw std::runtime_error(fmt::format("node {} is not reached by SSH (connection type {})",
                                         node.id, access.connection_type));
  }
  return access;
}

// `nodes` are those of the lease `id`, or the node with this id. Throws std::runtime_error if there
// are none, or several.
const model::Node& only_node(const std::vector<model::Node>& nodes, const std::string& id) {
  if (nodes.size() == 1) return nodes.front();
  std::vector<std::string> ids;
  ids.reserve(nodes.size());
  for (const model::Node& node : nodes) ids.push_back(node.id);
  throw std::runtime_error(
      fmt::format("lease {} has {} nodes, choose one: {}", id, ids.size(), fmt::join(ids, ", ")));
}

}  // namespace

Task<int> perform(Context& context, Installation& installation, UseShell command) {
  const std::vector<model::Node> nodes = co_await installation.find_nodes(command.id);
  const NodeAccess node = access_by_ssh(only_node(nodes, command.id));
  if (node.host_keys.empty()) {
    context.err << "nodepool: node " << node.id
                << " has no recorded host keys: its identity cannot be verified\n"
                << std::flush;
  }
  const PrivateDirectory directory(variable(context.environment, "TMPDIR", "/tmp"));
  const AccessPaths paths{.ssh_config = directory.path_of("ssh_config"),
                          .known_hosts = directory.path_of("known_hosts"),
                          .inventory = {}};
  directory.write("known_hosts", known_hosts_text({node}));
  // ssh uses the first value of each setting, so the record has precedence.
  directory.write("ssh_config",
                  ssh_config_text({node}, paths) + "Host *\n    Include ~/.ssh/config\n");
  std::vector<std::string> line = {"ssh", "-F", paths.ssh_config};
  if (!command.identity.empty()) line.insert(line.end(), {"-i", command.identity});
  line.insert(line.end(), {"--", node.id});
  line.insert(line.end(), command.command.begin(), command.command.end());
  async::Signals signals(context.runtime.executor,
                         async::unless_ignored({SIGINT, SIGTERM, SIGHUP, SIGQUIT}));
  const ChildEnd end = co_await run_child(context, signals, std::move(line), context.environment);
  co_return end.status;
}

}  // namespace nodepool::cli
