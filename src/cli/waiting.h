#pragma once

#include <optional>

#include "async/signals.h"
#include "cli/context.h"
#include "installation/installation.h"

namespace nodepool::cli {

using async::Task;
using installation::Installation;

// The exit statuses of `request` without nodes: every pool declined, it timed out, or
// requestor::Refused.
inline constexpr int kNoNodes = 2;
inline constexpr int kTimedOut = 3;
inline constexpr int kRefused = 4;

// Requests nodes and waits for them; a signal withdraws the request. Meanwhile it prints why the
// request waits, a hint if no pool can serve it, and a status line on the terminal. From then on,
// output without a reader does not end the process. Returns nothing if there are no nodes, or if
// the wait for nodes of this process was interrupted: then the reason has been printed, and
// `status` is the exit status. Throws as Installation::request().
Task<std::optional<requestor::LeasedNodes>> obtain_nodes(Context& context,
                                                         Installation& installation,
                                                         Installation::Request request,
                                                         async::Signals& signals, int& status);

}  // namespace nodepool::cli
