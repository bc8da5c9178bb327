#pragma once

#include <set>
#include <string>
#include <vector>

#include "async/clock.h"
#include "config/config.h"
#include "model/records.h"
#include "report/status_problems.h"

namespace nodepool {

// What needs attention in the whole installation: the list that `nodepool status` computes, for
// `/ready?detail`, the metric nodepool_problems and the status page.
class SiteProblems {
 public:
  // Both outlive it. The records have to include those of hosts.
  SiteProblems(async::Clock& clock, const model::Records& records);

  // The configuration in force, which names the providers and images that there should be.
  void configure(const config::Config& config);

  // The list, the worst first. It is computed at most once in two seconds.
  const std::vector<report::StatusProblem>& list();

 private:
  async::Clock& clock_;
  const model::Records& records_;
  std::set<std::string> providers_;
  std::set<std::string> diskimages_;
  std::vector<report::StatusProblem> problems_;
  async::Clock::TimePoint computed_{};
  bool is_stale_ = true;
};

}  // namespace nodepool
