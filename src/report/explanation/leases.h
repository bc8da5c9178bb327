#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// Whether a node is held by this lease.
bool knows_lease(const ExplanationFacts& knowledge, const std::string& id);

// The nodes that a request for the labels may wait for, by the stable name of the reason for the
// pool's decision (planning::name_of()): all nodes of a full pool or provider; otherwise those of
// the pool with one of the labels.
std::vector<const model::Node*> holders_of(const ExplanationFacts& knowledge,
                                           const model::Component& pool,
                                           const std::vector<std::string>& labels,
                                           std::string_view reason);

// Of the holders: when their first lease expires, and the nodes in use, with host, holder and the
// end of the lease. The first to end come first. Then those that are being deleted. If the pool or
// the provider is full, also nodes in other states; those of other clients are only counted.
// Returns "3 leases; the first of them ends in 0:04:51"; empty: no end is known.
std::string explain_use(Statements& to, const ExplanationFacts& knowledge,
                        const model::Component& pool, const std::vector<std::string>& labels,
                        std::string_view reason);

// Those of `nodes` that are being deleted, the longest first.
std::vector<const model::Node*> in_deletion(std::vector<const model::Node*> nodes);

// For a lease: its holder, its end, and the state of its nodes, including those it no longer holds.
Explanation explain_lease(const ExplanationFacts& knowledge, const std::string& id);

}  // namespace nodepool::report
