#pragma once

#include "async/task.h"
#include "cli/arguments.h"
#include "cli/context.h"
#include "model/node.h"
#include "requestor/lease.h"

namespace nodepool::cli {

using async::Task;

// Logs in to the node, or runs the command there; returns the exit status of ssh. Throws
// std::runtime_error for a node that is not reached by SSH.
Task<int> log_in(Context& context, model::Node node, UseShell command);

// The lease's only node. Throws std::runtime_error if it has several, or none.
const model::Node& only_node(const requestor::LeasedNodes& leased);

}  // namespace nodepool::cli
