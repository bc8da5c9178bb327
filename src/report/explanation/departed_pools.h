#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// For an installation without any registered pool.
void say_no_pools(Statements& to);

// What happens to a request that all registered pools have declined: "it fails", "it waits for pool
// sky-main, …". Empty for other requests. `most_left`: the most seconds that it waits, if known.
std::string outcome_of_declines(const ExplanationFacts& knowledge,
                                const model::NodeRequest& request,
                                std::optional<double> most_left = {});

// For a request that all registered pools have declined: the pool that it waits for, until its
// provider has started, or before it fails (`pool-timeout`) and how long at most: the first
// decision about it in `history`, the journal entries about the request, is not earlier than the
// departure. Adds nothing for other requests.
void explain_wait_for_pools(Statements& to, const ExplanationFacts& knowledge,
                            const model::NodeRequest& request,
                            const std::vector<history::JournalEntry>& history);

// What happens to requests for a label that no registered pool offers.
std::string outcome_without_pool(const ExplanationFacts& knowledge, const std::string& label);

}  // namespace nodepool::report
