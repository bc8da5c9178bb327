#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/signals.h"
#include "cli/arguments.h"
#include "cli/child.h"
#include "cli/context.h"
#include "model/node.h"

// The part of `run` that is independent of how it holds the nodes.
namespace nodepool::cli {

// Runs the command with the nodes in its environment. `nodes` are in the order of the labels.
Task<ChildEnd> run_with_nodes(Context& context, RunCommand command, async::Signals& signals,
                              std::vector<model::Node> nodes);

// If the command has failed, prints that its nodes are held and returns the reason; otherwise
// returns nothing.
std::optional<std::string> reason_to_keep(Context& context, const ChildEnd& end,
                                          const std::vector<model::Node>& nodes);

}  // namespace nodepool::cli
