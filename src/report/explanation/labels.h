#pragma once

#include <string>
#include <vector>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// For a label: its pools and nodes, and how many requests wait for it. `waiting` gets their ids, in
// the order of the queue.
Explanation explain_label(const ExplanationFacts& knowledge, const std::string& label,
                          std::vector<std::string>& waiting);

// Adds a line to the explanation of a label: a request that waits for it, and the reason.
void add_waiting_request(Explanation& to, const ExplanationFacts& knowledge,
                         const model::NodeRequest& request);

}  // namespace nodepool::report
