#pragma once

#include <functional>
#include <vector>

#include "cli/arguments.h"
#include "cli/session.h"
#include "installation/installation.h"
#include "report/table.h"

// Prints listings.
namespace nodepool::cli {

using installation::Installation;

// Returns the current table with all columns.
using Source = std::function<Task<report::Table>()>;

// Prints the table in the form of the listing. With `watch`, prints it again after each change of
// the records, until a signal arrives. `detail`: the columns of the format `table`; wide, JSON and
// YAML have all columns. Throws what the source throws, and what Installation::watch() throws.
Task<int> show(Context& context, Installation& installation, Listing listing, report::Detail detail,
               Source source);
Task<int> show(Session& session, Listing listing, report::Detail detail, Source source);

// Prints one table.
void print(Context& context, const report::Table& table, const Listing& listing);

}  // namespace nodepool::cli
