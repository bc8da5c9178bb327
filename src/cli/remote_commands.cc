#include "cli/remote_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <variant>

#include "async/finally.h"
#include "async/signals.h"
#include "async/task_scope.h"
#include "cli/child.h"
#include "cli/each.h"
#include "cli/explanations.h"
#include "cli/histories.h"
#include "cli/lease_files.h"
#include "cli/lease_length.h"
#include "cli/lease_text.h"
#include "cli/reason_follower.h"
#include "cli/sanitized_output.h"
#include "cli/shell.h"
#include "cli/show.h"
#include "config/yaml.h"
#include "report/history_listing.h"
#include "report/lease_listing.h"
#include "report/listings.h"

namespace nodepool::cli {

namespace {

using remote::RemoteInstallation;
using report::Detail;
using report::Table;

constexpr std::size_t kLongestToken = 4096;  // bytes of its file

std::string token_of(const Context& context, const Remote& remote) {
  const std::string file =
      remote.token_file.value_or(variable(context.environment, "NODEPOOL_TOKEN_FILE", ""));
  if (file.empty()) return variable(context.environment, "NODEPOOL_TOKEN", "");
  std::string token = config::read_file(file, kLongestToken);
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  if (token.empty()) throw std::runtime_error("the token file " + file + " is empty");
  return token;
}

// The result of a request, and why it waited last (empty: unknown).
struct RemoteAnswer {
  std::optional<RemoteInstallation::Outcome> outcome;
  std::string reason;
};

void explain_failure(Context& context, const RemoteAnswer& answer, const std::string& label) {
  const RemoteInstallation::Progress& progress = answer.outcome->progress;
  if (progress.state != model::RequestState::failed) {
    context.err << fmt::format("nodepool: request {} timed out and has been withdrawn{}\n",
                               progress.id, advice_after_timeout(answer.reason, label));
    return;
  }
  context.err << fmt::format("nodepool: request {} failed: every pool declined it\n", progress.id);
  for (const auto& [pool, reason] : progress.declined) {
    context.err << fmt::format("  {}{}{}\n", model::pool_title(pool), reason.empty() ? "" : ": ",
                               reason);
  }
}

Task<> request_nodes(Context& context, RemoteInstallation& installation,
                     RemoteInstallation::LeaseRequest lease_request, RemoteAnswer& answer) {
  const Explaining explain = [&installation](std::string subject) {
    return installation.explain(std::move(subject));
  };
  const ReasonFollower::Print print = [&context](const std::string& line) {
    context.err << line << '\n' << std::flush;
  };
  ReasonFollower follower(context.runtime, explain, print);
  async::TaskScope scope(context.runtime, [](const std::string&, const std::string&) {});
  bool is_followed = false;
  const auto on_progress = [&](const RemoteInstallation::Progress& progress) {
    if (!std::exchange(is_followed, true)) scope.spawn("reason", follower.follow(progress.id));
    if (!context.err_is_terminal || progress.state == model::RequestState::fulfilled) return;
    context.err << fmt::format("Request {}: {}{}\n", progress.id, to_string(progress.state),
                               progress.position
                                   ? fmt::format(", position {} in the queue", *progress.position)
                                   : "")
                << std::flush;
  };
  Task<RemoteInstallation::Outcome> requesting =
      installation.request(std::move(lease_request), on_progress);
  const auto stop = [&scope] { return scope.stop(); };
  Task<RemoteInstallation::Outcome> stopping = async::finally(std::move(requesting), stop);
  answer.outcome = co_await std::move(stopping);
  answer.reason = follower.reason();
}

Task<int> perform_on(Context& context, RemoteInstallation& installation, RequestNodes command) {
  LeaseFiles files(command.ssh_config, command.inventory);
  RemoteInstallation::LeaseRequest lease_request{.labels = command.labels,
                                                 .lease = command.lease,
                                                 .timeout = command.timeout,
                                                 .holder = holder_of(context),
                                                 .key = command.key};
  int status = 0;
  async::Signals signals(context.runtime.executor, {SIGINT, SIGTERM, SIGHUP});
  const auto leased =
      co_await obtain_remotely(context, installation, std::move(lease_request), signals, status);
  if (!leased) co_return status;
  print_lease(context, *leased, command, files);
  co_return 0;
}

Task<int> perform_on(Context& context, RemoteInstallation& installation, RunCommand command) {
  return run_remotely(context, installation, std::move(command));
}

Task<int> release(Context& context, RemoteInstallation& installation, std::string id,
                  std::optional<std::string> hold_reason) {
  const requestor::LeasedNodes leased = co_await installation.find_lease(id);
  const bool is_node = leased.lease.id != id;
  std::vector<std::string> ids;
  ids.reserve(leased.nodes.size());
  for (const model::Node& node : leased.nodes) ids.push_back(node.id);
  const std::optional<std::string> node = is_node ? std::optional(id) : std::nullopt;
  if (hold_reason) {
    co_await installation.hold(leased.lease.id, *hold_reason, node);
  } else {
    co_await installation.release(leased.lease.id, node);
  }
  context.out << fmt::format("{} {}\n", hold_reason ? "Held" : "Released", fmt::join(ids, ", "));
  co_return 0;
}

Task<int> perform_on(Context& context, RemoteInstallation& installation, ReleaseNodes command) {
  std::vector<std::string> ids = command.ids;
  if (command.all || command.mine) {
    const std::string holder = holder_of(context);
    const std::vector<requestor::LeasedNodes> leases = co_await installation.leases();
    for (const requestor::LeasedNodes& leased : leases) {
      if (command.all || leased.lease.holder == holder) ids.push_back(leased.lease.id);
    }
    if (ids.empty()) context.out << "There are no leases to release\n";
  }
  const Act act = [&context, &installation, &command](std::string id) {
    return release(context, installation, std::move(id), command.hold_reason);
  };
  co_return co_await for_each(context, std::move(ids), act);
}

Task<int> renew(Context& context, RemoteInstallation& installation, std::string id,
                std::optional<std::chrono::seconds> duration) {
  const requestor::LeasedNodes before = co_await installation.find_lease(id);
  const model::Lease lease = co_await installation.renew(std::move(id), duration);
  print_renewal(context, lease, before.lease.expires);
  co_return 0;
}

Task<int> perform_on(Context& context, RemoteInstallation& installation, RenewLeases command) {
  const Act act = [&context, &installation, length = command.duration](std::string id) {
    return renew(context, installation, std::move(id), length);
  };
  co_return co_await for_each(context, std::move(command.leases), act);
}

Task<int> perform_on(Context& context, RemoteInstallation& installation, UseShell command) {
  const requestor::LeasedNodes leased = co_await installation.find_lease(command.id);
  model::Node node = only_node(leased);
  co_return co_await log_in(context, std::move(node), std::move(command));
}

Task<int> perform_on(Context& context, RemoteInstallation& installation, Explain command) {
  const Explaining explaining = [&installation](std::string subject) {
    return installation.explain(std::move(subject));
  };
  return print_explanations(context, std::move(command.subjects), command.json, explaining);
}

Task<int> add_history(RemoteInstallation& installation, std::string id, Histories& histories) {
  const std::vector<history::JournalEntry> entries = co_await installation.history(id);
  if (entries.empty()) throw std::runtime_error("the history has no entries for " + id);
  histories.emplace_back(std::move(id), to_history(entries));
  co_return 0;
}

Task<int> perform_on(Context& context, RemoteInstallation& installation, ShowHistory command) {
  Histories histories;
  const Act act = [&installation, &histories](std::string id) {
    return add_history(installation, std::move(id), histories);
  };
  const int status = co_await for_each(context, command.ids, act);
  if (!histories.empty()) print_histories(context, histories, command.listing);
  co_return status;
}

Task<Table> fetch(RemoteInstallation& installation, std::string listing, Table columns,
                  Detail detail) {
  const Table table = co_await installation.list(std::move(listing), columns.columns());
  co_return table.with(detail);
}

// Prints one of the API's lists, with the columns of the command.
Task<int> print_list(Context& context, RemoteInstallation& installation, Listing listing,
                     Detail detail, std::string name, Table columns) {
  if (listing.watch)
    throw std::runtime_error("--watch needs the store and does not work with --url");
  const Source source = [&installation, name, columns](Detail wanted) {
    return fetch(installation, name, columns, wanted);
  };
  co_return co_await show_once(context, std::move(listing), detail, source);
}

Task<int> perform_on(Context& context, RemoteInstallation& installation, const ListNodes& command) {
  return print_list(context, installation, command.listing,
                    command.detail ? Detail::full : Detail::brief, "nodes",
                    report::node_columns(Detail::wide));
}

Task<int> perform_on(Context& context, RemoteInstallation& installation,
                     const ListRequests& command) {
  return print_list(context, installation, command.listing, Detail::brief, "requests",
                    report::request_columns());
}

Task<int> perform_on(Context& context, RemoteInstallation& installation,
                     const ListLabels& command) {
  return print_list(context, installation, command.listing, Detail::brief, "labels",
                    report::label_columns());
}

Task<Table> fetch_leases(RemoteInstallation& installation, Detail detail) {
  Table table = report::lease_columns();
  const std::vector<requestor::LeasedNodes> leases = co_await installation.leases();
  for (const requestor::LeasedNodes& leased : leases) {
    report::add_lease(table, leased.lease, leased.nodes);
  }
  co_return table.with(detail);
}

Task<int> perform_on(Context& context, RemoteInstallation& installation, ListLeases command) {
  const Source source = [&installation](Detail wanted) {
    return fetch_leases(installation, wanted);
  };
  co_return co_await show_once(context, command.listing, Detail::brief, source);
}

template <typename Other>
Task<int> perform_on(Context& /*context*/, RemoteInstallation& /*installation*/,
                     const Other& /*command*/) {
  throw std::runtime_error("this command needs the store and does not work with --url");
}

template <typename Kind>
Task<int> perform_kind(Context& context, RemoteInstallation& installation, Kind kind) {
  return std::visit(
      [&](auto& command) { return perform_on(context, installation, std::move(command)); }, kind);
}

}  // namespace

std::optional<remote::ApiAddress> remote_address(const Context& context,
                                                 const Arguments& arguments) {
  const Remote& remote = arguments.remote;
  std::string url = remote.url.value_or("");
  // With -c, the command uses that configuration's store and ignores $NODEPOOL_URL.
  const bool is_store_chosen = arguments.config != kUsualConfig;
  if (url.empty() && !is_store_chosen) url = variable(context.environment, "NODEPOOL_URL", "");
  if (url.empty()) return std::nullopt;
  return remote::ApiAddress{
      .url = std::move(url),
      .token = token_of(context, remote),
      .ca_file = remote.ca_file.value_or(variable(context.environment, "NODEPOOL_CA_FILE", ""))};
}

Task<std::optional<requestor::LeasedNodes>> obtain_remotely(
    Context& context, RemoteInstallation& installation,
    RemoteInstallation::LeaseRequest lease_request, async::Signals& signals, int& status) {
  RemoteAnswer answer;
  const std::string label = lease_request.labels.front();
  Task<> requesting = request_nodes(context, installation, std::move(lease_request), answer);
  const std::optional<int> interrupted = co_await signals.until_next(std::move(requesting));
  if (answer.outcome && answer.outcome->leased) co_return std::move(answer.outcome->leased);
  if (interrupted) {
    context.err << "nodepool: interrupted; the request has been withdrawn\n";
    constexpr int kSignal = 128;
    status = kSignal + *interrupted;
    co_return std::nullopt;
  }
  explain_failure(context, answer, label);
  status = answer.outcome->progress.state == model::RequestState::failed ? kNoNodes : kTimedOut;
  co_return std::nullopt;
}

Task<int> perform_remotely(Context& context, remote::ApiAddress address, Command command,
                           std::shared_ptr<telemetry::Log> log) {
  RemoteInstallation installation(context.runtime, address, {std::move(log), "nodepool.api"});
  Task<int> performing = std::visit(
      [&](auto& kind) { return perform_kind(context, installation, std::move(kind)); }, command);
  const auto finish = [&installation] { return installation.finish(); };
  co_return co_await async::finally(std::move(performing), finish);
}

}  // namespace nodepool::cli
