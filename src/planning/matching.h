#pragma once

#include <string>
#include <vector>

namespace nodepool::planning {

// Gives as many positions as possible one of their candidates each, none twice: result[i] is from
// candidates[i], or empty if nothing was left. Earlier candidates are preferred.
std::vector<std::string> match(const std::vector<std::vector<std::string>>& candidates);

}  // namespace nodepool::planning
