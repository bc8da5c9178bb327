#pragma once

#include <functional>
#include <vector>

#include "cli/arguments.h"
#include "cli/session.h"
#include "report/table.h"

// How listings are shown, wherever they come from.
namespace nodepool::cli {

// The table that is listed, as it is now, with the columns of so much detail.
using Source = std::function<Task<report::Table>(report::Detail detail)>;

// Prints the table as the listing says, and then, if it is to be watched, anew whenever the records
// of the session have changed, until a signal ends that. `detail`: what people are shown who do not
// say otherwise; programs have all. Throws what the source throws.
Task<int> show(Session& session, Listing listing, report::Detail detail, Source source);

// Prints it once, as the listing says but for `watch`.
Task<int> show_once(Context& context, Listing listing, report::Detail detail, Source source);

// Prints one table.
void print(Context& context, const report::Table& table, const Listing& listing);

}  // namespace nodepool::cli
