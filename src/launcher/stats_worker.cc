#include "launcher/stats_worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "coordination/election.h"
#include "coordination/error.h"
#include "launcher/launcher_metrics.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

using telemetry::series;

// Shared with the Python Nodepool: launchers of both kinds elect one.
constexpr auto kStatsElection = "/nodepool/elections/stats";

// A statsd server drops gauges that are not repeated, and may restart unnoticed.
constexpr auto kLimitsPause = std::chrono::seconds(1);
constexpr auto kQueuesPause = std::chrono::seconds(10);
constexpr auto kRepeatInterval = std::chrono::seconds(10);

// The shortest interval, even if nodes change more often.
constexpr auto kShortestCountsPause = std::chrono::seconds(1);

// Before the next candidacy after the store failed.
constexpr auto kElectionPause = std::chrono::seconds(5);

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Reported for every tenant with limits, even if unlimited.
constexpr std::string_view kCommonResources[] = {"cores", "instances", "ram"};

double max_servers_of(const driver::ProviderConfig& provider) {
  double sum = 0;
  for (const auto& [name, pool] : provider.pools()) {
    const double most = pool.max_servers ? static_cast<double>(*pool.max_servers) : kUnlimited;
    sum += std::max(most, 0.0);
  }
  return sum;
}

}  // namespace

StatsWorker::StatsWorker(const WorkerContext& context, const Providers& providers,
                         const planning::TenantLimits& tenant_limits, Options options)
    : context_(context),
      providers_(providers),
      tenant_limits_(tenant_limits),
      options_(std::move(options)),
      metrics_(options_.metrics.to_statsd_alone()),
      log_(context.log.child("StatsWorker")),
      scope_(context.runtime, telemetry::log_errors(log_)) {}

void StatsWorker::start() {
  if (!metrics_.has_statsd()) return;
  scope_.spawn("limits for statsd", report_periodically(kLimitsPause, &StatsWorker::limits));
  scope_.spawn("queues for statsd", report_periodically(kQueuesPause, &StatsWorker::queues));
  scope_.spawn("StatsWorker", stand_for_election());
}

Task<> StatsWorker::stop() {
  co_await scope_.stop();
}

Task<> StatsWorker::report_periodically(async::Duration pause,
                                        Gauges (StatsWorker::*gauges)() const) {
  while (true) {
    {
      telemetry::MetricsBatch batch(metrics_);
      for (const auto& [series, value] : (this->*gauges)()) batch.gauge(series, value);
    }
    co_await context_.runtime.clock.sleep_for(pause);
  }
}

StatsWorker::Gauges StatsWorker::limits() const {
  Gauges gauges;
  for (const auto& [name, provider] : providers_) {
    gauges[series<kMaxServers>(name)] = max_servers_of(provider.provider->config());
  }
  for (const auto& [tenant, limits] : tenant_limits_) {
    for (const std::string_view resource : kCommonResources) {
      gauges[series<kTenantLimits>(tenant, resource)] = kUnlimited;
    }
    for (const auto& [resource, limit] : limits.limits) {
      gauges[series<kTenantLimits>(tenant, resource)] = static_cast<double>(limit);
    }
  }
  return gauges;
}

StatsWorker::Gauges StatsWorker::queues() const {
  const model::Records& records = context_.records;
  Gauges gauges;
  const auto queue = [&](std::string_view table, const model::FollowedTree& followed) {
    gauges[series<kTableQueue>(options_.hostname, table)] = static_cast<double>(followed.queued());
  };
  queue("node", records.nodes);
  queue("request", records.requests);
  queue("image", records.images);
  if (options_.store_queue) {
    gauges[series<kStoreQueue>(options_.hostname)] = static_cast<double>(options_.store_queue());
  }
  return gauges;
}

void StatsWorker::add_metrics(telemetry::MetricsRegistry& registry) {
  for (const Gauges& gauges : {limits(), queues()}) {
    for (const auto& [series, value] : gauges) registry.gauge(series, value);
  }
  if (context_.records.ready()) {
    if (!current_counts_)
      current_counts_.emplace(context_.records.nodes, context_.records.requests);
    for (const auto& [series, count] : current_counts_->values(
             context_.records.components.pools(), context_.runtime.clock.wall_seconds())) {
      registry.gauge(series, static_cast<double>(count));
    }
  }
}

Task<> StatsWorker::stand_for_election() {
  const std::string identifier = fmt::format("{}-{}", options_.hostname, ::getpid());
  coordination::Election election(context_.runtime, context_.store, kStatsElection, identifier);
  while (true) {
    const coordination::Election::Leader leader = [this] { return lead(); };
    std::string failure;
    try {
      co_await election.run(leader);
    } catch (const coordination::StoreError& error) {
      failure = error.what();
    }
    log_.debug("Retrying the election: {}", failure);
    co_await context_.records.pause_before_retry(kElectionPause);
  }
}

Task<> StatsWorker::lead() {
  log_.info("Elected to report all nodes and requests to statsd");
  const NodeCounts node_counts(context_.records.nodes, context_.records.requests);
  async::Event changed("nodes or requests changed");
  const coordination::Subscription subscriptions[] = {
      context_.records.nodes.observe(
          [&changed](const model::NodeTable::Change&) { changed.set(); }),
      context_.records.requests.observe(
          [&changed](const model::RequestTable::Change&) { changed.set(); }),
      context_.records.components.observe(
          [&changed](const model::ComponentTable::Change&) { changed.set(); })};
  NodeCounts::Values reported;
  async::Clock& clock = context_.runtime.clock;
  while (true) {
    const async::Clock::TimePoint repetition = clock.now() + kRepeatInterval;
    if (context_.records.ready()) report_counts(node_counts, reported);
    co_await clock.sleep_for(kShortestCountsPause);
    co_await changed.wait_until(clock, repetition);
  }
}

// Reports series that have disappeared once more, as 0.
void StatsWorker::report_counts(const NodeCounts& node_counts, NodeCounts::Values& reported) const {
  const NodeCounts::Values values = node_counts.values(context_.records.components.pools(),
                                                       context_.runtime.clock.wall_seconds());
  telemetry::MetricsBatch batch(metrics_);
  for (const auto& [nodes, count] : reported) {
    if (!values.contains(nodes)) batch.gauge(nodes, 0);
  }
  for (const auto& [nodes, count] : values) batch.gauge(nodes, static_cast<double>(count));
  reported = values;
}

}  // namespace nodepool::launcher
