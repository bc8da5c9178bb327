#pragma once

#include <vector>

#include "history/entry.h"
#include "report/table.h"

namespace nodepool::report {

// The history of one node or request. `entries` is not empty.
Table history_listing(const std::vector<history::JournalEntry>& entries);

}  // namespace nodepool::report
