#pragma once

#include <string>
#include <vector>

#include "cli/listing/table.h"
#include "history/entry.h"

namespace nodepool::cli {

// The history of one node or request, which is not empty. Times are local, in JSON seconds since
// the epoch.
Table history_listing(const std::vector<history::Entry>& entries, bool json);

// The time between two steps: "0.004 s", "59.0 s", "0:10:00", "26:00:00".
std::string pause_text(double seconds);

}  // namespace nodepool::cli
