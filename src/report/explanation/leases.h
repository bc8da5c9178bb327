#pragma once

#include <string>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// Whether a node is held by this lease.
bool knows_lease(const ExplanationFacts& knowledge, const std::string& id);

// For a lease: its holder, its end, and the state of its nodes, including those it no longer holds.
Explanation explain_lease(const ExplanationFacts& knowledge, const std::string& id);

}  // namespace nodepool::report
