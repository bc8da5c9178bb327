#pragma once

#include <vector>

#include "history/entry.h"
#include "report/explanation/explanation.h"

// What the history of this host, and a launcher that explains, can know.
namespace nodepool::report {

// Whether the launcher of the pool writes the history of this host. A Python Nodepool does not.
bool writes_own_history(const ExplanationFacts& knowledge, const model::Component& pool);

// Whether a launcher of this host drops entries of its history.
bool drops_entries(const ExplanationFacts& knowledge);

// Whether all decisions of the pool about the request are known: it is one of the launcher that
// explains, or `history`, the journal entries about the request, has them from its beginning on.
bool knows_all_decisions(const ExplanationFacts& knowledge, const model::NodeRequest& request,
                         const std::vector<history::JournalEntry>& history,
                         const model::Component& pool);

}  // namespace nodepool::report
