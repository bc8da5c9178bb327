#pragma once

#include <vector>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// The backing node of a node or, before there is one, the requests for one. Empty for a node that
// is a machine.
struct BackingState {
  const model::Node* node = nullptr;
  std::vector<const model::NodeRequest*> requests = {};
};
BackingState backing_state(const ExplanationFacts& knowledge, const model::Node& node);

// For a node on a backing node: its slot, or the request that it waits for. For a backing node: the
// nodes on it. Adds nothing for other nodes.
void explain_backing(Statements& to, const ExplanationFacts& knowledge, const model::Node& node);

}  // namespace nodepool::report
