#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/entry.h"
#include "report/explanation/advice.h"
#include "report/explanation/explanation.h"

// The decisions of the registered pools about one request.
namespace nodepool::report {

// What the pool decides or has decided about the request: the decline in its record, the decision
// by the launcher's rules, or the last one in `history`, the journal entries about the request.
Statement pool_decision(const ExplanationFacts& knowledge, const model::NodeRequest& request,
                        const std::vector<history::JournalEntry>& history,
                        const model::Component& pool);

// The stable name of the reason (planning::name_of()) for the pool's decision about the request, by
// the launcher's rules or the last one in `history`; of a paused pool without one: that it is full.
// Empty: unknown.
std::string reason_of_decision(const ExplanationFacts& knowledge, const model::NodeRequest& request,
                               const std::vector<history::JournalEntry>& history,
                               const model::Component& pool);

// The text of a decline, in the words of the configuration: records and logs have the Python
// Nodepool's.
std::string decline_text(std::string text);

// The stable name of the reason of a decision (planning::name_of()); empty: there is none.
std::string reason_name(const history::Decided& decided);

// The pools without one of the labels, unless they have declined the request for another reason.
std::vector<const model::Component*> pools_without_labels(const ExplanationFacts& knowledge,
                                                          const model::NodeRequest& request);

// A launcher that runs, and why it serves no pool, as in `nodepool status`. With `may_name`,
// without names and problems: these are for operators. Returns nothing if no launcher runs.
std::optional<ReasonToWait> launcher_without_pools(const model::ComponentTable& components,
                                                   const MayName& may_name = {});

// For an installation without any registered pool.
void explain_missing_pools(Statements& to, const ExplanationFacts& knowledge);

// The decision of a pool that offers the request's labels, or the node in launch. Where no decision
// is known: the pool that may serve it, hangs, or is awaited. Empty if the request does not wait
// for a pool or a launch.
ReasonToWait reason_to_wait(const ExplanationFacts& knowledge, const model::NodeRequest& request,
                            const std::vector<history::JournalEntry>& history);

}  // namespace nodepool::report
