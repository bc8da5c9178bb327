#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "async/finally.h"
#include "async/signals.h"
#include "cli/access_files.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/private_directory.h"
#include "cli/waiting.h"
#include "report/rendering/table_text.h"

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

// A failed command, whose nodes are to be held.
struct Failure {
  int status;
  std::vector<std::string> nodes;  // their ids
};

Failure failure_of(const ChildEnd& end, const std::vector<model::Node>& nodes) {
  Failure failure{.status = end.status, .nodes = {}};
  for (const model::Node& node : nodes) failure.nodes.push_back(node.id);
  return failure;
}

// Runs the command if there are nodes. If they are to be held, sets `failure`.
Task<int> run_on_nodes(Context& context, Installation& installation, RunCommand command,
                       std::optional<Failure>& failure) {
  // From here on, so that a signal between the request and the command does not leak the nodes.
  Signals signals(context.runtime.executor,
                  async::unless_ignored({SIGINT, SIGTERM, SIGHUP, SIGQUIT}));
  const auto stop = [&context](const std::string& reason) {
    context.err << "nodepool: " << reason << ": the nodes are lost, and the command is stopped\n"
                << std::flush;
    std::raise(SIGTERM);  // which is forwarded to the command
  };
  Installation::Request request{.labels = command.labels,
                                .timeout = command.timeout,
                                .holder = context.holder(),
                                .is_for_process = true,
                                .on_lost = stop};
  int status = 0;
  const std::optional<requestor::LeasedNodes> used =
      co_await obtain_nodes(context, installation, std::move(request), signals, status);
  if (!used) co_return std::max(status, kNotRun);  // 128 + n after a signal
  const bool hold_on_failure = command.hold_on_failure;
  const ChildEnd end = co_await run_with_nodes(context, std::move(command), signals, used->nodes);
  const bool has_failed = end.has_run && end.status != 0;
  if (hold_on_failure && has_failed) failure = failure_of(end, used->nodes);
  co_return end.status;
}

// When the hold of a node ends, as part of a sentence; empty: never, or it is unknown.
Task<std::string> end_of_hold(Installation& installation, std::string id) {
  std::vector<model::Node> nodes;
  try {
    nodes = co_await installation.find_nodes(std::move(id));
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception&) {
    co_return std::string();
  }
  const model::Node& node = nodes.front();
  const std::int64_t length = node.hold_expiration.value_or(0);
  if (node.state != model::NodeState::hold || length == 0) co_return std::string();
  co_return fmt::format(
      " until {} at the latest",
      report::time_text_in_seconds({node.state_time + static_cast<double>(length)}));
}

Task<> print_held(Context& context, Installation& installation, Failure failure,
                  std::vector<std::string> held) {
  // All holds begin at the same time.
  std::string end;
  if (!held.empty()) end = co_await end_of_hold(installation, held.front());
  context.err << fmt::format("nodepool: the command exited with status {}; ", failure.status);
  if (!held.empty()) {
    context.err << fmt::format(
        "{} held{}: log in with `nodepool ssh ID`, release with `nodepool release ID`\n",
        fmt::join(held, ", "), end);
  }
  std::erase_if(failure.nodes, [&held](const std::string& id) {
    return std::ranges::find(held, id) != held.end();
  });
  if (failure.nodes.empty()) co_return;
  context.err << fmt::format("{}{} lost, and not held\n",
                             held.empty() ? "" : "nodepool: ", fmt::join(failure.nodes, ", "));
}

// Releases the nodes, or holds those of a failed command. A failure of that does not change the
// exit status.
Task<> release_used(Context& context, Installation& installation, std::optional<Failure> failure) {
  std::optional<std::string> reason;
  if (failure) {
    reason =
        fmt::format("the command of {} exited with status {}", context.holder(), failure->status);
  }
  try {
    std::vector<std::string> ended = co_await installation.end_use(std::move(reason));
    if (failure) {
      co_await print_held(context, installation, *std::move(failure), std::move(ended));
    }
  } catch (const std::exception& error) {
    context.err << "nodepool: the nodes could not be released; " << error.what() << '\n';
  }
}

}  // namespace

Task<int> perform(Context& context, Installation& installation, RunCommand command) {
  std::optional<Failure> failure;
  Task<int> running = run_on_nodes(context, installation, std::move(command), failure);
  const auto end = [&context, &installation, &failure] {
    return release_used(context, installation, failure);
  };
  co_return co_await async::finally(std::move(running), end);
}

}  // namespace nodepool::cli
