#pragma once

#include <map>

#include "builder/build_schedule.h"
#include "builder/context.h"
#include "builder/upload_schedule.h"

namespace nodepool::builder {

// The image gauges: those of the Python Nodepool, and the age of what is ready. Sends the former to
// statsd every minute, because statsd servers drop gauges without updates, and provides all of them
// to add_metrics().
class ImageGauges {
 public:
  ImageGauges(const BuilderContext& context, BuildSchedule& builds, UploadSchedule& uploads);

  // Adds the current values, and removes those of images that are no longer configured. Counters of
  // results begin with 0, so that the first failure is an increase.
  void add_metrics(telemetry::MetricsRegistry& registry) const;

  // Reports until it is cancelled. Returns at once without statsd.
  Task<> run();

 private:
  using Gauges = std::map<telemetry::Series, double>;

  Gauges gauges() const;  // empty without the records

  const BuilderContext& context_;
  BuildSchedule& builds_;
  UploadSchedule& uploads_;
  telemetry::Metrics metrics_;  // for statsd
};

}  // namespace nodepool::builder
