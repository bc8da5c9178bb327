#pragma once

#include <map>
#include <optional>
#include <string>

#include "builder/context.h"
#include "builder/decisions.h"
#include "builder/delay_queue.h"
#include "builder/image_jobs.h"
#include "builder/retries.h"

namespace nodepool::builder {

// The images that are to be built, shared by all build workers.
class BuildSchedule {
 public:
  explicit BuildSchedule(const BuilderContext& context);

  DelayQueue<std::string>& images() { return schedule_; }

  // Builds that somebody wants and waits for. Who places one calls images().enqueue().
  ImageJobs<std::string>& jobs() { return jobs_; }

  // Nothing new is begun.
  void close() {
    schedule_.close();
    jobs_.close();
  }

  // What is to be done about the image, going by these builds.
  BuildVerdict evaluate(const std::string& image, const Builds& builds, bool being_built) const;

  // A build has ended. Returns how long the image is left alone if it has failed.
  async::Duration failed(const std::string& image);
  void succeeded(const std::string& image) { retries_.forget(image); }

  // What made the last attempt fail may have been changed.
  void reconfigured(const std::string& image) { retries_.forget(image); }

 private:
  std::optional<async::Clock::TimePoint> due(const std::string& image) const;

  const BuilderContext& context_;
  Retries<std::string> retries_;
  std::map<std::string, double> failed_at_;  // seconds since the epoch
  ImageJobs<std::string> jobs_;
  DelayQueue<std::string> schedule_;
};

}  // namespace nodepool::builder
