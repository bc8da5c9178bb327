#pragma once

#include <memory>
#include <optional>

#include "async/signals.h"
#include "async/task.h"
#include "cli/arguments.h"
#include "cli/context.h"
#include "remote/installation.h"
#include "telemetry/log.h"

// The commands that work through the request API, without a store.
namespace nodepool::cli {

using async::Task;

// The API that is to be used, by the arguments or the environment; nothing: the store. Throws
// std::runtime_error if the token cannot be read.
std::optional<remote::Address> remote_address(const Context& context, const Arguments& arguments);

// Performs the command there; returns the exit status. Throws std::runtime_error for one that needs
// the store.
Task<int> perform_remotely(Context& context, remote::Address address, Command command,
                           std::shared_ptr<telemetry::Log> log);

// run_remotely.cc: holds the nodes by a lease that is renewed while the command runs.
Task<int> run_remotely(Context& context, remote::Installation& installation, RunCommand command);

// Asks for nodes, and says meanwhile how the request fares; a signal ends that. Nothing if there
// are none: why has been said, and `status` is the exit status.
Task<std::optional<requestor::LeasedNodes>> obtain_remotely(
    Context& context, remote::Installation& installation,
    remote::Installation::LeaseRequest lease_request, async::Signals& signals, int& status);

}  // namespace nodepool::cli
