#include "main/site_problems.h"

#include <chrono>

namespace nodepool {

namespace {

constexpr auto kFreshness = std::chrono::seconds(2);

}  // namespace

SiteProblems::SiteProblems(async::Clock& clock, const model::Records& records)
    : clock_(clock), records_(records) {}

void SiteProblems::configure(const config::Config& config) {
  providers_ = config::provider_names(config);
  diskimages_ = config::images_to_build(config);
  is_stale_ = true;
}

const std::vector<report::StatusProblem>& SiteProblems::list() {
  if (!is_stale_ && clock_.now() < computed_ + kFreshness) return problems_;
  problems_ = report::status_problems(
      {.nodes = records_.nodes,
       .requests = records_.requests,
       .components = records_.components,
       .images = records_.images,
       .hosts = records_.hosts.reports(),
       .store = {},
       .providers = providers_,
       .diskimages = diskimages_,
       .now = clock_.wall_seconds(),
       .wait_limit = std::chrono::duration<double>(report::kDefaultWaitLimit).count()});
  computed_ = clock_.now();
  is_stale_ = false;
  return problems_;
}

}  // namespace nodepool
