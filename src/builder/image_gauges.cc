#include "builder/image_gauges.h"

#include <chrono>
#include <string_view>

#include "builder/builder_metrics.h"
#include "builder/decisions.h"

namespace nodepool::builder {

namespace {

using telemetry::series;

constexpr auto kGaugeInterval = std::chrono::seconds(60);

// Values of states.
constexpr double kIdle = 0;
constexpr double kBuilding = 1;
constexpr double kUploading = 2;
constexpr double kPaused = 3;

}  // namespace

ImageGauges::ImageGauges(const BuilderContext& context, BuildSchedule& builds,
                         UploadSchedule& uploads)
    : context_(context),
      builds_(builds),
      uploads_(uploads),
      metrics_(context.metrics.to_statsd_alone()) {}

Task<> ImageGauges::run() {
  while (metrics_.has_statsd()) {
    {
      telemetry::MetricsBatch batch(metrics_);
      for (const auto& [series, value] : gauges()) batch.gauge(series, value);
    }
    co_await context_.runtime.clock.sleep_for(kGaugeInterval);
  }
}

void ImageGauges::add_metrics(telemetry::MetricsRegistry& registry) const {
  for (const telemetry::Metric* metric : {&kBuildExitCode, &kLastBuild, &kImageSize}) {
    registry.erase(*metric, [this](const telemetry::Series& series) {
      return !context_.settings.diskimages.contains(series.values.front());
    });
  }
  for (const auto& [series, value] : gauges()) registry.gauge(series, value);
  for (const std::string_view result : {kDone, kFailed}) {
    for (const auto& [image, settings] : context_.settings.diskimages) {
      registry.count(series<kBuildResults>(image, result), 0);
    }
    for (const auto& [provider, managed] : context_.settings.managed_images) {
      for (const auto& [image, use] : managed.images) {
        registry.count(series<kUploadResults>(image, provider, result), 0);
      }
    }
  }
}

ImageGauges::Gauges ImageGauges::gauges() const {
  Gauges gauges;
  if (!context_.images.ready()) return gauges;
  double requests = 0;
  for (const std::string& image : context_.images.images()) {
    const double pending = context_.images.has_pending_request(image) ? 1 : 0;
    gauges[series<kBuildRequestsOfImage>(image)] = pending;
    requests += pending;
  }
  gauges[series<kBuildRequests>()] = requests;
  for (const auto& [name, image] : context_.settings.diskimages) {
    const bool paused = image.pause || context_.images.is_paused(name);
    const bool building = builds_.images().is_taken(name);
    gauges[series<kBuildState>(context_.fqdn, name)] = building ? kBuilding
                                                       : paused ? kPaused
                                                                : kIdle;
    if (!context_.settings.wanted_formats.at(name).empty()) {
      gauges[series<kRebuildAge>(name)] = static_cast<double>(image.rebuild_age);
    }
    if (const model::ImageBuild* newest = newest_ready(context_.images.builds_of(name))) {
      gauges[series<kNewestReadyBuild>(name)] = newest->state_time;
    }
  }
  for (const auto& [name, managed] : context_.settings.managed_images) {
    for (const auto& [image, use] : managed.images) {
      const bool uploading = uploads_.pairs().is_taken({name, image});
      gauges[series<kUploadState>(context_.fqdn, image, name)] = uploading   ? kUploading
                                                                 : use.pause ? kPaused
                                                                             : kIdle;
      if (const model::ImageUpload* newest = context_.images.newest_ready_upload(image, name)) {
        gauges[series<kNewestReadyUpload>(image, name)] = newest->state_time;
      }
    }
  }
  return gauges;
}

}  // namespace nodepool::builder
