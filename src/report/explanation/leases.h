#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// Whether a node is held by this lease.
bool knows_lease(const ExplanationFacts& knowledge, const std::string& id);

// When the first lease of a node of this pool with one of the labels expires, in seconds since the
// epoch. Returns nothing if none is leased.
std::optional<double> next_lease_end(const ExplanationFacts& knowledge,
                                     const model::Component& pool,
                                     const std::vector<std::string>& labels);

// For a lease: its holder, its end, and the state of its nodes, including those it no longer holds.
Explanation explain_lease(const ExplanationFacts& knowledge, const std::string& id);

}  // namespace nodepool::report
