#include "planning/matching.h"

#include <map>
#include <set>

namespace nodepool::planning {

namespace {

// Kuhn's algorithm for bipartite matching: if all candidates of a position are taken, their
// positions try other candidates.
class Matching {
 public:
  explicit Matching(const std::vector<std::vector<std::string>>& candidates)
      : candidates_(candidates) {}

  void place(std::size_t position) {
    asked_.clear();
    find_candidate(position);
  }

  std::vector<std::string> result() const {
    std::vector<std::string> result(candidates_.size());
    for (const auto& [candidate, position] : holder_) result[position] = candidate;
    return result;
  }

 private:
  bool find_candidate(std::size_t position) {
    for (const std::string& candidate : candidates_[position]) {
      if (!asked_.insert(candidate).second) continue;
      const auto holder = holder_.find(candidate);
      if (holder == holder_.end() || find_candidate(holder->second)) {
        holder_[candidate] = position;
        return true;
      }
    }
    return false;
  }

  const std::vector<std::vector<std::string>>& candidates_;
  std::map<std::string, std::size_t> holder_;
  std::set<std::string> asked_;
};

}  // namespace

std::vector<std::string> match(const std::vector<std::vector<std::string>>& candidates) {
  Matching matching(candidates);
  for (std::size_t position = 0; position < candidates.size(); ++position) matching.place(position);
  return matching.result();
}

}  // namespace nodepool::planning
