#include "builder/image_gauges.h"

#include <chrono>

#include "builder/builder_metrics.h"

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
}

ImageGauges::Gauges ImageGauges::gauges() const {
  Gauges gauges;
  if (!context_.images.ready()) return gauges;
  const auto& requests = context_.images.build_requests();
  gauges[series<kBuildRequests>()] = static_cast<double>(requests.size());
  for (const std::string& image : context_.images.images()) {
    gauges[series<kBuildRequestsOfImage>(image)] = requests.contains(image) ? 1 : 0;
  }
  for (const auto& [name, image] : context_.settings.diskimages) {
    const bool paused = image.pause || context_.images.is_paused(name);
    const bool building = builds_.images().is_taken(name);
    gauges[series<kBuildState>(context_.fqdn, name)] = building ? kBuilding
                                                       : paused ? kPaused
                                                                : kIdle;
  }
  for (const auto& [name, managed] : context_.settings.managed_images) {
    for (const auto& [image, use] : managed.images) {
      const bool uploading = uploads_.pairs().is_taken({name, image});
      gauges[series<kUploadState>(context_.fqdn, image, name)] = uploading   ? kUploading
                                                                 : use.pause ? kPaused
                                                                             : kIdle;
    }
  }
  return gauges;
}

}  // namespace nodepool::builder
