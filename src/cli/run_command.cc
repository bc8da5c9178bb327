#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "cli/with_nodes.h"
#include "requestor/held_nodes.h"

namespace nodepool::cli {

namespace {

using async::Signals;
using requestor::HeldNodes;

Task<> obtain(Session& session, RunCommand command, HeldNodes& held,
              std::optional<Answer>& answer) {
  answer = co_await request_and_wait(session, command.labels, command.timeout);
  if (answer->result.kind != requestor::Result::Kind::fulfilled) co_return;
  co_await held.accept(answer->result.request);
}

// Runs the command. If its nodes are to be held, sets `keep` to the reason.
Task<int> run_on_held(Context& context, RunCommand command, Signals& signals, const HeldNodes& held,
                      std::optional<std::string>& keep) {
  const bool hold_on_failure = command.hold_on_failure;
  const ChildEnd end = co_await run_with_nodes(context, std::move(command), signals, held.nodes());
  if (hold_on_failure) keep = reason_to_keep(context, end, held.nodes());
  co_return end.status;
}

// Releases or holds the nodes. A failure does not change the exit status.
Task<> release(Context& context, HeldNodes& held, std::optional<std::string> keep) {
  try {
    co_await held.release(std::move(keep));
  } catch (const coordination::StoreError& error) {
    context.err << "nodepool: the nodes could not be released; that happens when this session "
                   "ends: "
                << error.what() << '\n';
  }
}

}  // namespace

Task<ChildEnd> run_with_nodes(Context& context, RunCommand command, Signals& signals,
                              std::vector<model::Node> records) {
  const std::vector<NodeAccess> nodes = access_to(records, command.labels);
  const PrivateDirectory directory(variable(context.environment, "TMPDIR", "/tmp"));
  const AccessPaths paths{directory.path_of("ssh_config"), directory.path_of("known_hosts"),
                          directory.path_of("inventory.yaml")};
  directory.write("ssh_config", ssh_config_text(nodes, paths));
  directory.write("known_hosts", known_hosts_text(nodes));
  directory.write("inventory.yaml", inventory_text(nodes, paths));
  const config::Environment environment = access_environment(context.environment, nodes, paths);
  co_return co_await run_child(context, signals, std::move(command.command), environment);
}

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
  return fmt::format("the command of nodepool:{} exited with status {}", context.identity,
                     end.status);
}

Task<int> perform(Session& session, RunCommand command) {
  Context& context = session.context();
  Signals signals(session.runtime().executor, {SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  HeldNodes held(session.runtime(), session.store());
  std::optional<Answer> answer;
  Task<> obtaining = obtain(session, command, held, answer);
  const std::optional<int> interrupted = co_await signals.until_next(std::move(obtaining));
  if (!interrupted && answer->result.kind != requestor::Result::Kind::fulfilled) {
    context.err << "nodepool: " << explain(*answer) << '\n';
    co_return kNotRun;
  }
  if (interrupted) {
    context.err << "nodepool: interrupted; the request has been withdrawn\n";
    co_await release(context, held, std::nullopt);
    co_return 128 + *interrupted;
  }
  std::optional<std::string> keep;
  Task<int> running = run_on_held(context, std::move(command), signals, held, keep);
  const auto end = [&context, &held, &keep] { return release(context, held, keep); };
  co_return co_await async::finally(std::move(running), end);
}

}  // namespace nodepool::cli
