#pragma once

#include <string>

#include "history/entry.h"

namespace nodepool::report {

// The black box of a launch that has failed, for people: lines without a newline at the end. Empty
// if the entry is of anything else, or has nothing that can be read.
std::string launch_text(const history::Entry& entry);

}  // namespace nodepool::report
