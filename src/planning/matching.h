#pragma once

#include <string>
#include <vector>

namespace nodepool::planning {

// Assigns a different candidate to as many positions as possible: result[i] is from candidates[i],
// or empty. Earlier candidates are preferred.
std::vector<std::string> match(const std::vector<std::vector<std::string>>& candidates);

}  // namespace nodepool::planning
