#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <optional>
#include <ostream>

#include "async/finally.h"
#include "async/signals.h"
#include "cli/access_files.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/private_directory.h"
#include "cli/waiting.h"

namespace nodepool::cli {

namespace {

using async::Signals;

// Runs the command with the nodes in its environment. `records` are in the order of the labels.
Task<ChildEnd> run_with_nodes(Context& context, RunCommand command, Signals& signals,
                              std::vector<model::Node> records) {
  const std::vector<NodeAccess> nodes = access_to(records, labels_of(records, command.labels));
  const PrivateDirectory directory(variable(context.environment, "TMPDIR", "/tmp"));
  const AccessPaths paths{directory.path_of("ssh_config"), directory.path_of("known_hosts"),
                          directory.path_of("inventory.yaml")};
  directory.write("ssh_config", ssh_config_text(nodes, paths));
  directory.write("known_hosts", known_hosts_text(nodes));
  directory.write("inventory.yaml", inventory_text(nodes, paths));
  const config::Environment environment = access_environment(context.environment, nodes, paths);
  co_return co_await run_child(context, signals, std::move(command.command), environment);
}

// If the command has failed, prints that its nodes are held and returns the reason; otherwise
// returns nothing.
std::optional<std::string> reason_to_keep(Context& context, const ChildEnd& end,
                                          const std::vector<model::Node>& nodes) {
  if (!end.has_run || end.status == 0) return std::nullopt;
  std::vector<std::string> ids;
  ids.reserve(nodes.size());
  for (const model::Node& node : nodes) ids.push_back(node.id);
  context.err << fmt::format(
      "nodepool: the command exited with status {}; {} held: log in with `nodepool ssh ID`, "
      "release with `nodepool delete ID`\n",
      end.status, fmt::join(ids, ", "));
  return fmt::format("the command of {} exited with status {}", context.holder(), end.status);
}

// Runs the command if there are nodes. If they are to be held, sets `keep` to the reason.
Task<int> run_on_nodes(Context& context, Installation& installation, RunCommand command,
                       std::optional<std::string>& keep) {
  Installation::Request request{.labels = command.labels,
                                .timeout = command.timeout,
                                .holder = context.holder(),
                                .is_for_process = true};
  // From here on, so that a signal between the request and the command does not leak the nodes.
  Signals signals(context.runtime.executor, {SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  int status = 0;
  const std::optional<requestor::LeasedNodes> used =
      co_await obtain_nodes(context, installation, std::move(request), signals, status);
  if (!used) co_return std::max(status, kNotRun);  // 128 + n after a signal
  const bool hold_on_failure = command.hold_on_failure;
  const ChildEnd end = co_await run_with_nodes(context, std::move(command), signals, used->nodes);
  if (hold_on_failure) keep = reason_to_keep(context, end, used->nodes);
  co_return end.status;
}

// Releases or holds the nodes. A failure does not change the exit status.
Task<> release_used(Context& context, Installation& installation, std::optional<std::string> keep) {
  try {
    co_await installation.end_use(std::move(keep));
  } catch (const std::exception& error) {
    context.err << "nodepool: the nodes could not be released; " << error.what() << '\n';
  }
}

}  // namespace

Task<int> perform(Context& context, Installation& installation, RunCommand command) {
  std::optional<std::string> keep;
  Task<int> running = run_on_nodes(context, installation, std::move(command), keep);
  const auto end = [&context, &installation, &keep] {
    return release_used(context, installation, keep);
  };
  co_return co_await async::finally(std::move(running), end);
}

}  // namespace nodepool::cli
