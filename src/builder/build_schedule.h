#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "builder/context.h"
#include "builder/decisions.h"
#include "builder/delay_queue.h"
#include "builder/image_jobs.h"
#include "builder/retries.h"
#include "builder/store_failures.h"

namespace nodepool::builder {

// The images to build and when. Shared by all build workers.
class BuildSchedule {
 public:
  explicit BuildSchedule(const BuilderContext& context);

  DelayQueue<std::string>& images() { return schedule_; }

  // Builds that a client waits for. After submitting one, call images().enqueue().
  ImageJobs<std::string>& jobs() { return jobs_; }

  StoreFailures<std::string>& store_failures() { return store_failures_; }

  // Starts no further builds.
  void close() {
    schedule_.close();
    jobs_.close();
  }

  // Decides whether and when to build the image, given its builds.
  BuildVerdict evaluate(const std::string& image, const Builds& builds, bool being_built) const;

  // The transaction that made or last repeated the build request of the image; 0: none is open.
  std::int64_t latest_request(const std::string& image) const;

  // A build has failed or succeeded. failed() returns the time until the retry; a request by a
  // later transaction than `began` skips it.
  async::Duration failed(const std::string& image, std::int64_t began);
  void succeeded(const std::string& image) { retries_.forget(image); }

  // The configuration of the image has changed: retries without delay.
  void reconfigured(const std::string& image) { retries_.forget(image); }

 private:
  std::optional<async::Clock::TimePoint> due(const std::string& image) const;

  const BuilderContext& context_;
  Retries<std::string> retries_;
  std::map<std::string, std::int64_t> failed_;  // the transactions with which the builds began
  ImageJobs<std::string> jobs_;
  DelayQueue<std::string> schedule_;
  StoreFailures<std::string> store_failures_{schedule_};
};

}  // namespace nodepool::builder
