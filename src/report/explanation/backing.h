#pragma once

#include <vector>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// What stands behind a node that is on another one, or is to be: that node, once there is one,
// before that the requests for one. Empty for a machine of its own.
struct Behind {
  const model::Node* node = nullptr;
  std::vector<const model::NodeRequest*> requests = {};
};
Behind behind(const ExplanationFacts& knowledge, const model::Node& node);

// Where a node is, or what it waits for, if it is on another node or is to be; of a backing node,
// which nodes are on it. Nothing for all others.
void explain_backing(Statements& to, const ExplanationFacts& knowledge, const model::Node& node);

}  // namespace nodepool::report
