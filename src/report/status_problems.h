#pragma once

#include <string>
#include <vector>

#include "report/status.h"

namespace nodepool::report {

// One thing that needs somebody.
struct StatusProblem {
  StatusLevel level = StatusLevel::attention;
  std::string about;  // for programs, which sort of thing: it does not change
  std::string text;   // a sentence
};

// All that needs somebody, the worst first.
std::vector<StatusProblem> status_problems(const StatusSources& sources);

// The requests that have waited for longer than they should have to, the longest first.
std::vector<const model::NodeRequest*> overdue(const StatusSources& sources);

// When somebody asked, in seconds since the epoch.
double made_at(const model::NodeRequest& request);

}  // namespace nodepool::report
