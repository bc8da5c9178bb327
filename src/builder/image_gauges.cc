#include "builder/image_gauges.h"

#include <fmt/format.h>

#include <chrono>

namespace nodepool::builder {

namespace {

constexpr auto kGaugeInterval = std::chrono::seconds(60);

// The figures that stand for states.
constexpr double kIdle = 0;
constexpr double kBuilding = 1;
constexpr double kUploading = 2;
constexpr double kPaused = 3;

}  // namespace

Task<> ImageGauges::run() {
  while (context_.metrics.enabled()) {
    if (context_.images.ready()) report();
    co_await context_.runtime.clock.sleep_for(kGaugeInterval);
  }
}

void ImageGauges::report() const {
  telemetry::MetricsBatch batch(context_.metrics);
  const auto& requests = context_.images.build_requests();
  batch.gauge("nodepool.image_build_requests", static_cast<double>(requests.size()));
  for (const std::string& image : context_.images.images()) {
    batch.gauge("nodepool.image." + image + ".image_build_requests",
                requests.contains(image) ? 1 : 0);
  }
  const std::string builder = "nodepool.builder." + context_.fqdn + ".image.";
  for (const auto& [name, image] : context_.diskimages) {
    const bool paused = image.pause || context_.images.is_paused(name);
    const bool building = builds_.images().is_taken(name);
    batch.gauge(builder + name + ".build.state", building ? kBuilding : paused ? kPaused : kIdle);
  }
  for (const auto& [name, managed] : context_.managed_images) {
    for (const auto& [image, use] : managed.images) {
      const bool uploading = uploads_.pairs().is_taken({name, image});
      batch.gauge(fmt::format("{}{}.provider.{}.upload.state", builder, image, name),
                  uploading   ? kUploading
                  : use.pause ? kPaused
                              : kIdle);
    }
  }
}

}  // namespace nodepool::builder
