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

Task<> ImageGauges::run() {
  while (context_.metrics.has_statsd()) {
    if (context_.images.ready()) report();
    co_await context_.runtime.clock.sleep_for(kGaugeInterval);
  }
}

void ImageGauges::report() const {
  telemetry::MetricsBatch batch(context_.metrics);
  const auto& requests = context_.images.build_requests();
  batch.gauge(series<kBuildRequests>(), static_cast<double>(requests.size()));
  for (const std::string& image : context_.images.images()) {
    batch.gauge(series<kBuildRequestsOfImage>(image), requests.contains(image) ? 1 : 0);
  }
  for (const auto& [name, image] : context_.settings.diskimages) {
    const bool paused = image.pause || context_.images.is_paused(name);
    const bool building = builds_.images().is_taken(name);
    batch.gauge(series<kBuildState>(context_.fqdn, name), building ? kBuilding
                                                          : paused ? kPaused
                                                                   : kIdle);
  }
  for (const auto& [name, managed] : context_.settings.managed_images) {
    for (const auto& [image, use] : managed.images) {
      const bool uploading = uploads_.pairs().is_taken({name, image});
      batch.gauge(series<kUploadState>(context_.fqdn, image, name), uploading   ? kUploading
                                                                    : use.pause ? kPaused
                                                                                : kIdle);
    }
  }
}

}  // namespace nodepool::builder
