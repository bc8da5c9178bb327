#pragma once

#include <string>

#include "history/entry.h"

namespace nodepool::report {

// The trace of a failed launch, for people: lines without a newline at the end. Empty if the entry
// is of another event or has no readable trace.
std::string launch_text(const history::JournalEntry& entry);

// Replaces the console log in the trace of a failed launch by a note, for readers that may not read
// it. Removes a trace that this release cannot read.
void hide_console(history::JournalEntry& entry);

}  // namespace nodepool::report
