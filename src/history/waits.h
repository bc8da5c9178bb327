#pragma once

#include <map>
#include <string>
#include <vector>

#include "history/journal.h"

// How long requests have waited for their nodes: the facts of the events `fulfilled`.
namespace nodepool::history {

// In seconds, by labels in sorted order; of the last requests for exactly these labels, the newest
// last.
using Waits = std::map<std::vector<std::string>, std::vector<double>>;

inline constexpr std::size_t kMostWaits = 20;  // for the same labels

// The waits in the last MiB of the current file. A missing journal counts as empty. Blocks. Throws
// std::system_error.
Waits recent_waits(const Journal& journal);

// The time within which four of five of the waits ended, in seconds. `waits` is not empty.
double usual_wait(std::vector<double> waits);

}  // namespace nodepool::history
