#pragma once

#include <set>
#include <string>
#include <vector>

#include "async/clock.h"
#include "config/config.h"
#include "model/records.h"
#include "report/status_problems.h"

namespace nodepool {

// The problems of the whole installation that need attention, as of `nodepool status`: for
// `/ready?detail`, the metric nodepool_problems and the status page.
class SiteProblems {
 public:
  // Both outlive this. The records have to include the hosts.
  SiteProblems(async::Clock& clock, const model::Records& records);

  // Sets the configuration in force: its providers and images have to exist.
  void configure(const config::Config& config);

  // The problems, the worst first. Computed at most once in two seconds.
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
