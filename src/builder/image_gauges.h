#pragma once

#include "builder/build_schedule.h"
#include "builder/context.h"
#include "builder/upload_schedule.h"

namespace nodepool::builder {

// Tells statsd every minute how images stand, in the figures of the Python Nodepool. (A gauge that
// is not heard of for a while is forgotten by those who draw it.)
class ImageGauges {
 public:
  ImageGauges(const BuilderContext& context, BuildSchedule& builds, UploadSchedule& uploads)
      : context_(context), builds_(builds), uploads_(uploads) {}

  // Reports for as long as it is not cancelled; ends at once if nobody listens.
  Task<> run();

 private:
  void report() const;

  const BuilderContext& context_;
  BuildSchedule& builds_;
  UploadSchedule& uploads_;
};

}  // namespace nodepool::builder
