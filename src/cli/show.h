#pragma once

#include <functional>
#include <vector>

#include "cli/arguments.h"
#include "cli/session.h"
#include "report/table.h"

// Prints listings, from the store or the API.
namespace nodepool::cli {

// Returns the current table, with the columns of this detail.
using Source = std::function<Task<report::Table>(report::Detail detail)>;

// Prints the table in the form of the listing. With `watch`, prints it again after each change of
// the session's records, until a signal arrives. `detail`: the columns of the format `table`; wide,
// JSON and YAML have all columns. Throws what the source throws.
Task<int> show(Session& session, Listing listing, report::Detail detail, Source source);

// Prints it once, also with `watch`.
Task<int> show_once(Context& context, Listing listing, report::Detail detail, Source source);

// Prints one table.
void print(Context& context, const report::Table& table, const Listing& listing);

}  // namespace nodepool::cli
