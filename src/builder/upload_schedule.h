#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "builder/context.h"
#include "builder/decisions.h"
#include "builder/delay_queue.h"
#include "builder/image_jobs.h"
#include "builder/retries.h"
#include "builder/store_failures.h"

namespace nodepool::builder {

// A provider and an image that it lists.
using UploadPair = std::pair<std::string, std::string>;

// The uploads to make and when. Shared by all upload workers.
class UploadSchedule {
 public:
  explicit UploadSchedule(const BuilderContext& context);

  DelayQueue<UploadPair>& pairs() { return schedule_; }

  // Uploads that a client waits for. After submitting one, call pairs().enqueue().
  ImageJobs<UploadPair>& jobs() { return jobs_; }

  StoreFailures<UploadPair>& store_failures() { return store_failures_; }

  // Starts no further uploads.
  void close() {
    schedule_.close();
    jobs_.close();
  }

  // The build to upload next: the build of the next job, or else the newest. Returns null if there
  // is none.
  const model::ImageBuild* next_build(const UploadPair& pair) const;

  // Evaluates the image again: it may have changed.
  void enqueue_image(const std::string& image);

  UploadVerdict evaluate(const UploadPair& pair) const;

  // An upload has failed or succeeded. failed() returns the delay until the retry.
  async::Duration failed(const UploadPair& pair, const std::string& build_id);
  void succeeded(const UploadPair& pair) { retries_.forget(pair); }
  // The configuration of the provider has changed: retries without delay.
  void reconfigured(const std::string& provider);

 private:
  std::optional<async::Clock::TimePoint> due(const UploadPair& pair) const;

  const BuilderContext& context_;
  Retries<UploadPair> retries_;
  std::map<UploadPair, std::string> failed_build_;  // a newer build is uploaded without delay
  ImageJobs<UploadPair> jobs_;
  DelayQueue<UploadPair> schedule_;
  StoreFailures<UploadPair> store_failures_{schedule_};
};

}  // namespace nodepool::builder
