#include <csignal>
#include <ostream>
#include <utility>

#include "async/finally.h"
#include "async/signals.h"
#include "async/task_scope.h"
#include "cli/lease_length.h"
#include "cli/remote_commands.h"
#include "cli/with_nodes.h"
#include "requestor/error.h"

namespace nodepool::cli {

namespace {

using remote::RemoteInstallation;

// After this process is killed, its nodes stay leased for at most kLease. Until a lease expires,
// the launchers may be unreachable.
constexpr auto kLease = std::chrono::minutes(3);
constexpr auto kRenewal = std::chrono::seconds(45);

// Renews the lease until it is cancelled.
Task<> keep_lease(Context& context, RemoteInstallation& installation, std::string lease) {
  bool is_reported = false;
  while (true) {
    co_await context.runtime.clock.sleep_for(kRenewal);
    std::string failure;
    try {
      co_await installation.renew(lease, kLease);
    } catch (const requestor::RequestError& error) {
      failure = error.what();
    }
    if (!failure.empty() && !std::exchange(is_reported, true)) {
      context.err << "nodepool: the lease could not be renewed, retrying: " << failure << '\n'
                  << std::flush;
    }
  }
}

Task<> release_nodes(Context& context, RemoteInstallation& installation, std::string lease,
                     std::optional<std::string> keep) {
  try {
    if (keep) {
      co_await installation.hold(std::move(lease), *keep);
    } else {
      co_await installation.release(std::move(lease));
    }
  } catch (const requestor::RequestError& error) {
    context.err << "nodepool: the nodes could not be released; that happens when their lease "
                   "expires: "
                << error.what() << '\n';
  }
}

Task<int> run_leased(Context& context, RunCommand command, requestor::LeasedNodes leased,
                     async::Signals& signals, std::optional<std::string>& keep) {
  const bool hold_on_failure = command.hold_on_failure;
  const ChildEnd end = co_await run_with_nodes(context, std::move(command), signals, leased.nodes);
  if (hold_on_failure) keep = reason_to_keep(context, end, leased.nodes);
  co_return end.status;
}

}  // namespace

Task<int> run_remotely(Context& context, RemoteInstallation& installation, RunCommand command) {
  RemoteInstallation::LeaseRequest lease_request{.labels = command.labels,
                                                 .lease = kLease,
                                                 .timeout = command.timeout,
                                                 .holder = holder_of(context)};
  // From here on, so that a signal between the lease and the command does not leak the nodes.
  async::Signals signals(context.runtime.executor, {SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  int status = 0;
  auto leased =
      co_await obtain_remotely(context, installation, std::move(lease_request), signals, status);
  // Keep 128 + n, the status after a signal.
  if (!leased) co_return status > kNotRun ? status : kNotRun;
  async::TaskScope renewals(context.runtime, [&context](const auto& name, const auto& error) {
    context.err << "nodepool: " << name << ": " << error << '\n';
  });
  const std::string lease = leased->lease.id;
  renewals.spawn("renewing the lease", keep_lease(context, installation, lease));
  std::optional<std::string> keep;
  Task<int> running = run_leased(context, std::move(command), *std::move(leased), signals, keep);
  const auto stop = [&renewals] { return renewals.stop(); };
  Task<int> ending = async::finally(std::move(running), stop);
  const auto release = [&context, &installation, &lease, &keep] {
    return release_nodes(context, installation, lease, keep);
  };
  co_return co_await async::finally(std::move(ending), release);
}

}  // namespace nodepool::cli
