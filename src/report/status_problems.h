#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "report/status.h"

namespace nodepool::report {

// The default of StatusSources::patience.
inline constexpr auto kDefaultWaitLimit = std::chrono::minutes(10);

// One thing that needs attention.
struct StatusProblem {
  StatusLevel level = StatusLevel::attention;
  std::string about;         // for programs: the sort of problem; stable
  std::string text;          // a sentence
  std::string kind = {};     // of the subject: "request", "provider", "host", "image", "component";
                             // empty: no single subject
  std::string subject = {};  // its id or name
};

// All problems, the worst first. Used by `nodepool status`, the status page, `/ready?detail` and
// the metric nodepool_problems.
std::vector<StatusProblem> status_problems(const StatusSources& sources);

// The requests that have waited for longer than StatusSources::patience, the longest first.
std::vector<const model::NodeRequest*> overdue(const StatusSources& sources);

}  // namespace nodepool::report
