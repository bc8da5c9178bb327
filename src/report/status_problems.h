#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "report/status.h"

namespace nodepool::report {

// How long a request may wait before that is a problem, unless the caller says so.
inline constexpr auto kUsualPatience = std::chrono::minutes(10);

// One thing that needs attention.
struct StatusProblem {
  StatusLevel level = StatusLevel::attention;
  std::string about;         // for programs, which sort of thing: it does not change
  std::string text;          // a sentence
  std::string kind = {};     // of the subject: "request", "provider", "host", "image", "component";
                             // empty: there is no single one
  std::string subject = {};  // its id or name
};

// All that needs attention, the worst first: the one list of `nodepool status`, of the status page,
// of `/ready?detail` and of the metric nodepool_problems.
std::vector<StatusProblem> status_problems(const StatusSources& sources);

// The requests that have waited for longer than StatusSources::patience, the longest first.
std::vector<const model::NodeRequest*> overdue(const StatusSources& sources);

// When the request was made, in seconds since the epoch.
double made_at(const model::NodeRequest& request);

}  // namespace nodepool::report
