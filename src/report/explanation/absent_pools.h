#pragma once

#include <string>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// Pools that are gone and may be back: requests wait for them before they fail (`pool-timeout`).
// For a request that all registered pools have declined: what it waits for. Nothing for others.
void explain_wait_for_pools(Statements& to, const ExplanationFacts& knowledge,
                            const model::NodeRequest& request);

// What becomes of requests for a label that no registered pool offers.
std::string fate_without_pool(const ExplanationFacts& knowledge, const std::string& label);

}  // namespace nodepool::report
