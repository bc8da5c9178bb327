#pragma once

#include "builder/build_schedule.h"
#include "builder/context.h"
#include "builder/upload_schedule.h"

namespace nodepool::builder {

// Sends the image gauges of the Python Nodepool to statsd every minute, because statsd servers drop
// gauges without updates.
class ImageGauges {
 public:
  ImageGauges(const BuilderContext& context, BuildSchedule& builds, UploadSchedule& uploads)
      : context_(context), builds_(builds), uploads_(uploads) {}

  // Reports until it is cancelled. Returns at once without statsd.
  Task<> run();

 private:
  void report() const;

  const BuilderContext& context_;
  BuildSchedule& builds_;
  UploadSchedule& uploads_;
};

}  // namespace nodepool::builder
