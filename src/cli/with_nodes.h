#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/signals.h"
#include "cli/arguments.h"
#include "cli/child.h"
#include "cli/context.h"
#include "model/node.h"

// What `run` does once it has the nodes, however it holds them.
namespace nodepool::cli {

// Runs the command, which finds the nodes in its environment. `nodes` are in the order of the
// labels.
Task<ChildEnd> run_with_nodes(Context& context, RunCommand command, async::Signals& signals,
                              std::vector<model::Node> nodes);

// Why the nodes are kept if the command has failed, which is said; nothing if it has not.
std::optional<std::string> reason_to_keep(Context& context, const ChildEnd& end,
                                          const std::vector<model::Node>& nodes);

}  // namespace nodepool::cli
