#pragma once

#include <string>
#include <vector>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// Whether a node is held by this lease.
bool knows_lease(const ExplanationFacts& knowledge, const std::string& id);

// For a pool and labels: when the first lease of a node with one of the labels expires, and the
// nodes in use, with host, holder and the end of the lease. The first to end come first. Then those
// that are being deleted.
void explain_use(Statements& to, const ExplanationFacts& knowledge, const model::Component& pool,
                 const std::vector<std::string>& labels);

// The pool's nodes with one of the labels that are being deleted, the longest first.
std::vector<const model::Node*> nodes_in_deletion(const ExplanationFacts& knowledge,
                                                  const model::Component& pool,
                                                  const std::vector<std::string>& labels);

// For a lease: its holder, its end, and the state of its nodes, including those it no longer holds.
Explanation explain_lease(const ExplanationFacts& knowledge, const std::string& id);

}  // namespace nodepool::report
