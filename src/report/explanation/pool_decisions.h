#pragma once

#include <string>
#include <vector>

#include "history/entry.h"
#include "report/explanation/explanation.h"

// The decisions of the registered pools about one request.
namespace nodepool::report {

// What the pool decides or has decided about the request: the decline in its record, the decision
// by the launcher's rules, or the last one in `history`, the journal entries about the request.
Statement pool_decision(const ExplanationFacts& knowledge, const model::NodeRequest& request,
                        const std::vector<history::JournalEntry>& history,
                        const model::Component& pool);

// Why a request is not served yet.
struct ReasonToWait {
  std::string text = {};    // one line that stays the same as long as the reason does
  std::string advice = {};  // what would help; may be empty
};

// The decision of a pool that offers the request's labels, or the node in launch. Where no decision
// is known: the pool that may serve it, hangs, or is awaited. Empty if the request does not wait
// for a pool or a launch.
ReasonToWait reason_to_wait(const ExplanationFacts& knowledge, const model::NodeRequest& request,
                            const std::vector<history::JournalEntry>& history);

}  // namespace nodepool::report
