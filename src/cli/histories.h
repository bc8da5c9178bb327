#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/context.h"
#include "history/entry.h"
#include "report/table.h"

namespace nodepool::cli {

// What is known of one request or node.
struct History {
  report::Table table;
  std::string launches;  // those that failed, for people
};

// Of entries, of which there is at least one.
History to_history(const std::vector<history::Entry>& entries);

// The histories of requests and nodes, by id.
using Histories = std::vector<std::pair<std::string, History>>;

// Prints them as the listing says.
void print_histories(Context& context, const Histories& histories, const Listing& listing);

}  // namespace nodepool::cli
