#pragma once

#include <string>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// What happens to a request that all registered pools have declined: "it fails", "it waits for pool
// sky-main, …". Empty for other requests.
std::string outcome_of_declines(const ExplanationFacts& knowledge,
                                const model::NodeRequest& request);

// For a request that all registered pools have declined: the deregistered pool that it waits for
// before it fails (`pool-timeout`). Adds nothing for other requests.
void explain_wait_for_pools(Statements& to, const ExplanationFacts& knowledge,
                            const model::NodeRequest& request);

// What happens to requests for a label that no registered pool offers.
std::string outcome_without_pool(const ExplanationFacts& knowledge, const std::string& label);

}  // namespace nodepool::report
