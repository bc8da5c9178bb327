#pragma once

#include <string>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// Whether there is such a lease: a node is held by it.
bool knows_lease(const ExplanationFacts& knowledge, const std::string& id);

// For a lease: whose it is, when it ends, and what has become of its nodes, also of those that have
// left it.
Explanation explain_lease(const ExplanationFacts& knowledge, const std::string& id);

}  // namespace nodepool::report
