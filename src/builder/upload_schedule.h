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

namespace nodepool::builder {

// A provider and an image that it lists.
using UploadPair = std::pair<std::string, std::string>;

// What is to be uploaded, shared by all upload workers.
class UploadSchedule {
 public:
  explicit UploadSchedule(const BuilderContext& context);

  DelayQueue<UploadPair>& pairs() { return schedule_; }

  // Uploads that somebody wants and waits for. Who places one calls pairs().enqueue().
  ImageJobs<UploadPair>& jobs() { return jobs_; }

  // Nothing new is begun.
  void close() {
    schedule_.close();
    jobs_.close();
  }

  // The build to upload next: what has been ordered, or the newest; null if there is none.
  const model::ImageBuild* next_build(const UploadPair& pair) const;

  // Something about the image may have changed.
  void enqueue_image(const std::string& image);

  UploadVerdict evaluate(const UploadPair& pair) const;

  // An upload has ended. Returns how long the pair is left alone if it has failed.
  async::Duration failed(const UploadPair& pair, const std::string& build_id);
  void succeeded(const UploadPair& pair) { retries_.forget(pair); }
  // What made the last attempt fail may have been changed.
  void reconfigured(const std::string& provider);

 private:
  std::optional<async::Clock::TimePoint> due(const UploadPair& pair) const;

  const BuilderContext& context_;
  Retries<UploadPair> retries_;
  std::map<UploadPair, std::string> failed_build_;  // a newer build is tried at once
  ImageJobs<UploadPair> jobs_;
  DelayQueue<UploadPair> schedule_;
};

}  // namespace nodepool::builder
