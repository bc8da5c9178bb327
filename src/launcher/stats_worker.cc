#include "launcher/stats_worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "coordination/election.h"
#include "coordination/error.h"
#include "launcher/launcher_metrics.h"

namespace nodepool::launcher {

namespace {

using telemetry::series;

// The Python Nodepool's: launchers of both kinds elect one of them.
constexpr auto kStatsElection = "/nodepool/elections/stats";

// A statsd server forgets what it is not told again, and does not say when it has been restarted.
constexpr auto kLimitsPause = std::chrono::seconds(1);
constexpr auto kLongestSilence = std::chrono::seconds(10);

// However often nodes change.
constexpr auto kShortestCountsPause = std::chrono::seconds(1);

// Before standing for election again after the store has failed.
constexpr auto kElectionPause = std::chrono::seconds(5);

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// These have a figure for every tenant with limits, limited or not.
constexpr std::string_view kCommonResources[] = {"cores", "instances", "ram"};

double servers_of(const driver::ProviderConfig& provider) {
  double sum = 0;
  for (const auto& [name, pool] : provider.pools()) {
    const double most = pool.max_servers ? static_cast<double>(*pool.max_servers) : kUnlimited;
    sum += std::max(most, 0.0);
  }
  return sum;
}

}  // namespace

StatsWorker::StatsWorker(const WorkerContext& context, const Providers& providers,
                         const planning::TenantLimits& tenant_limits, telemetry::Metrics metrics,
                         std::string hostname)
    : context_(context),
      providers_(providers),
      tenant_limits_(tenant_limits),
      metrics_(std::move(metrics)),
      hostname_(std::move(hostname)),
      log_(context.log.child("StatsWorker")),
      scope_(context.runtime, context.report_to(log_)) {}

void StatsWorker::start() {
  if (!metrics_.enabled()) return;
  scope_.spawn("limits for statsd", tell_limits_now_and_then());
  scope_.spawn("StatsWorker", stand_for_election());
}

Task<> StatsWorker::stop() {
  co_await scope_.stop();
}

Task<> StatsWorker::tell_limits_now_and_then() {
  while (true) {
    tell_limits();
    co_await context_.runtime.clock.sleep_for(kLimitsPause);
  }
}

void StatsWorker::tell_limits() const {
  telemetry::MetricsBatch batch(metrics_);
  for (const auto& [name, provider] : providers_) {
    batch.gauge(series<kMaxServers>(name), servers_of(provider.provider->config()));
  }
  for (const auto& [tenant, limits] : tenant_limits_) {
    std::map<std::string, double> figures;
    for (const std::string_view resource : kCommonResources) {
      figures.emplace(resource, kUnlimited);
    }
    for (const auto& [resource, limit] : limits.limits) {
      figures[resource] = static_cast<double>(limit);
    }
    for (const auto& [resource, limit] : figures) {
      batch.gauge(series<kTenantLimits>(tenant, resource), limit);
    }
  }
}

Task<> StatsWorker::stand_for_election() {
  const std::string identifier = fmt::format("{}-{}", hostname_, ::getpid());
  coordination::Election election(context_.runtime, context_.store, kStatsElection, identifier);
  while (true) {
    const coordination::Election::Leader leader = [this] { return lead(); };
    std::string failure;
    try {
      co_await election.run(leader);
    } catch (const coordination::StoreError& error) {
      failure = error.what();
    }
    log_.debug("Standing for election again: {}", failure);
    co_await context_.records.pause_before_retry(kElectionPause);
  }
}

Task<> StatsWorker::lead() {
  log_.info("Elected to tell statsd of all nodes and requests");
  const Census census(context_.records.nodes, context_.records.requests);
  async::Event changed("nodes or requests changed");
  const coordination::Subscription subscriptions[] = {
      context_.records.nodes.observe(
          [&changed](const model::NodeTable::Change&) { changed.set(); }),
      context_.records.requests.observe(
          [&changed](const model::RequestTable::Change&) { changed.set(); }),
      context_.records.components.observe(
          [&changed](const model::ComponentTable::Change&) { changed.set(); })};
  Census::Figures told;
  while (true) {
    if (context_.records.ready()) tell_counts(census, told);
    co_await context_.runtime.clock.sleep_for(kShortestCountsPause);
    co_await changed.wait_until(context_.runtime.clock,
                                context_.runtime.clock.now() + kLongestSilence);
  }
}

// What has vanished is told once more, as 0.
void StatsWorker::tell_counts(const Census& census, Census::Figures& told) const {
  const Census::Figures figures = census.figures(context_.records.components.pools());
  telemetry::MetricsBatch batch(metrics_);
  for (const auto& [nodes, count] : told) {
    if (!figures.contains(nodes)) batch.gauge(nodes, 0);
  }
  for (const auto& [nodes, count] : figures) batch.gauge(nodes, static_cast<double>(count));
  told = figures;
}

}  // namespace nodepool::launcher
