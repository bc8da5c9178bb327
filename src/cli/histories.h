#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/context.h"
#include "history/entry.h"
#include "report/table.h"

namespace nodepool::cli {

// The history of one request or node.
struct History {
  report::Table table;
  std::string launches;  // traces of failed launches, for people
};

// The history in the entries, of which there is at least one.
History to_history(const std::vector<history::JournalEntry>& entries);

// The histories of requests and nodes, by id.
using Histories = std::vector<std::pair<std::string, History>>;

// Prints them in the form of the listing.
void print_histories(Context& context, const Histories& histories, const Listing& listing);

}  // namespace nodepool::cli
