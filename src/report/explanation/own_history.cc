#include "report/explanation/own_history.h"

#include <algorithm>
#include <string>

namespace nodepool::report {

bool writes_own_history(const ExplanationFacts& knowledge, const model::Component& pool) {
  return knowledge.own_host && pool.hostname == knowledge.own_host->name &&
         implementation_of(pool) != model::Implementation::python_nodepool;
}

bool drops_entries(const ExplanationFacts& knowledge) {
  return std::ranges::any_of(knowledge.components.all(), [&knowledge](const auto& entry) {
    const model::Component& component = entry.second;
    return knowledge.own_host && component.hostname == knowledge.own_host->name &&
           std::ranges::any_of(component.problems, [](const std::string& problem) {
             return problem.starts_with(model::kHistoryProblem);
           });
  });
}

bool knows_all_decisions(const ExplanationFacts& knowledge, const model::NodeRequest& request,
                         const std::vector<history::JournalEntry>& history,
                         const model::Component& pool) {
  if (knowledge.own_pools.contains(pool.id)) return true;
  if (!writes_own_history(knowledge, pool) || drops_entries(knowledge)) return false;
  // By age and rotation, the first entries are lost first.
  if (!history.empty()) return history.front().event == to_string(model::RequestState::requested);
  // The clocks of the requestor and of the store may differ: the earlier one counts.
  const double since = std::min(request.state_time, request.stat.created());
  return since > knowledge.own_host->last_entry;
}

}  // namespace nodepool::report
