#pragma once

#include <memory>
#include <optional>

#include "async/signals.h"
#include "async/task.h"
#include "cli/arguments.h"
#include "cli/context.h"
#include "remote/installation.h"
#include "telemetry/log.h"

// The commands that use the request API instead of the store.
namespace nodepool::cli {

using async::Task;

// The API chosen by the arguments or the environment; nothing: the store. Throws std::runtime_error
// if the token cannot be read.
std::optional<remote::ApiAddress> remote_address(const Context& context,
                                                 const Arguments& arguments);

// Performs the command through the API; returns the exit status. Throws std::runtime_error for a
// command that needs the store.
Task<int> perform_remotely(Context& context, remote::ApiAddress address, Command command,
                           std::shared_ptr<telemetry::Log> log);

// run_remotely.cc: leases the nodes and renews the lease while the command runs.
Task<int> run_remotely(Context& context, remote::RemoteInstallation& installation,
                       RunCommand command);

// Requests nodes and prints progress; a signal cancels the request. Returns nothing if there are no
// nodes: then the reason has been printed, and `status` is the exit status.
Task<std::optional<requestor::LeasedNodes>> obtain_remotely(
    Context& context, remote::RemoteInstallation& installation,
    remote::RemoteInstallation::LeaseRequest lease_request, async::Signals& signals, int& status);

}  // namespace nodepool::cli
