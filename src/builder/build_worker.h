#pragma once

#include <string>

#include "builder/build_schedule.h"
#include "builder/context.h"
#include "builder/image_builder.h"

namespace nodepool::builder {

// Builds images, one at a time.
class BuildWorker {
 public:
  BuildWorker(const BuilderContext& context, BuildSchedule& schedule,
              const ImageBuilders& builders);

  // Works until the schedule is closed. Throws Cancelled, after ending the current build.
  Task<> run();

 private:
  Task<> process(std::string image);
  Task<> build_locked(std::string image, coordination::Lock& lock);
  Task<> perform(BuildJob job, BuildReason reason, coordination::Lock& lock);
  Task<bool> is_still_due(std::string image, BuildReason reason);
  Task<BuildResult> make(BuildJob job, ImageBuilder& builder);
  Task<> finish(model::ImageBuild build, config::DiskImage image, BuildResult result,
                coordination::Lock& lock);
  Task<> remove_request(model::ImageBuild build);
  Task<> report_metrics(model::ImageBuild build, BuildResult result, async::Duration duration);

  const BuilderContext& context_;
  BuildSchedule& schedule_;
  const ImageBuilders& builders_;
  telemetry::Logger log_;
};

}  // namespace nodepool::builder
