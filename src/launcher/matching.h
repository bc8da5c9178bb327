#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nodepool::launcher {

// Gives each position one of its candidates, none twice: result[i] is from candidates[i]. Earlier
// candidates are preferred. Nothing if that is impossible.
std::optional<std::vector<std::string>> match(
    const std::vector<std::vector<std::string>>& candidates);

}  // namespace nodepool::launcher
