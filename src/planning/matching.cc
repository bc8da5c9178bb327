#include "planning/matching.h"

#include <map>
#include <set>

namespace nodepool::planning {

namespace {

// Kuhn's algorithm for bipartite matching: if all candidates of a position are taken, their
// positions try other candidates. What a failed search has asked helps no later one, until another
// position is placed: a request with many equal labels does not search again for each of them.
class Matching {
 public:
  explicit Matching(const std::vector<std::vector<std::string>>& candidates)
      : candidates_(candidates) {}

  void place(std::size_t position) {
    if (find_candidate(position)) asked_.clear();
  }

  std::vector<std::string> result() const {
    std::vector<std::string> result(candidates_.size());
    for (const auto& [candidate, position] : holder_) result[position] = candidate;
    return result;
  }

 private:
  bool find_candidate(std::size_t position) {
    for (const std::string& candidate : candidates_[position]) {
      if (holder_.try_emplace(candidate, position).second) return true;
    }
    for (const std::string& candidate : candidates_[position]) {
      if (!asked_.insert(candidate).second) continue;
      std::size_t& holder = holder_.at(candidate);
      if (find_candidate(holder)) {
        holder = position;
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
