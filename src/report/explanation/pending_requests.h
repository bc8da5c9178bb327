#pragma once

#include "report/explanation/advice.h"
#include "report/explanation/explanation.h"

// Requests in state `pending`: a launcher has accepted them.
namespace nodepool::report {

// Whether the records show that the launcher of the request is gone: one of its nodes is building
// without a lock, or is not locked and its pool is not registered.
bool is_interrupted(const ExplanationFacts& knowledge, const model::NodeRequest& request);

// The node in launch, or the launcher that has to resume it. Empty if neither is known.
ReasonToWait reason_of_pending(const ExplanationFacts& knowledge,
                               const model::NodeRequest& request);

}  // namespace nodepool::report
