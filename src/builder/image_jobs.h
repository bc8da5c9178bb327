#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/event.h"

namespace nodepool::builder {

// A build or an upload that a client waits for.
struct ImageJob {
  enum class State { waiting, begun, succeeded, failed, withdrawn };

  explicit ImageJob(std::string id) : build_id(std::move(id)) {}

  bool ended() const { return state != State::waiting && state != State::begun; }

  std::string build_id;
  State state = State::waiting;
  std::optional<int> percent_sent = {};  // of an upload in progress
  std::string problem = {};              // if failed
  async::Event changed{"an image job changed"};
};

// The jobs for the workers of a schedule, by key, in order of submission.
template <typename Key>
class ImageJobs {
 public:
  // Submits a job for the build. Returns the existing one if it has not ended.
  std::shared_ptr<ImageJob> submit(const Key& key, const std::string& build_id) {
    if (auto known = find(key, build_id)) return known;
    auto image_job = std::make_shared<ImageJob>(build_id);
    if (closed_) {
      image_job->state = ImageJob::State::withdrawn;
      return image_job;
    }
    jobs_[key].push_back(image_job);
    return image_job;
  }

  // Returns the next job; null if there is none.
  std::shared_ptr<ImageJob> next(const Key& key) const {
    const auto found = jobs_.find(key);
    return found == jobs_.end() ? nullptr : found->second.front();
  }

  // A worker reports the start, progress and end of a build or upload. No effect without a job. An
  // empty `problem` means success.
  void begin(const Key& key, const std::string& build_id) {
    if (const auto image_job = find(key, build_id)) set(*image_job, ImageJob::State::begun);
  }
  void set_percent(const Key& key, const std::string& build_id, int percent) {
    const auto image_job = find(key, build_id);
    if (!image_job || image_job->percent_sent == percent) return;
    image_job->percent_sent = percent;
    image_job->changed.set();
  }
  void end(const Key& key, const std::string& build_id, const std::string& problem) {
    const auto image_job = find(key, build_id);
    if (!image_job) return;
    image_job->problem = problem;
    set(*image_job, problem.empty() ? ImageJob::State::succeeded : ImageJob::State::failed);
    std::erase(jobs_[key], image_job);
    if (jobs_[key].empty()) jobs_.erase(key);
  }

  // Withdraws a job. No effect if it has begun.
  void withdraw(const Key& key, const ImageJob& image_job) {
    const auto found = jobs_.find(key);
    if (found == jobs_.end() || image_job.state != ImageJob::State::waiting) return;
    std::erase_if(found->second,
                  [&image_job](const auto& known) { return known.get() == &image_job; });
    if (found->second.empty()) jobs_.erase(found);
  }

  // Wakes all clients: a job may have become impossible.
  void wake() {
    for (const auto& [key, queue] : jobs_) {
      for (const auto& image_job : queue) image_job->changed.set();
    }
  }

  // Withdraws all jobs that have not begun; further ones are withdrawn at once.
  void close() {
    closed_ = true;
    for (auto& [key, queue] : jobs_) {
      for (const auto& image_job : queue) {
        if (image_job->state == ImageJob::State::waiting)
          set(*image_job, ImageJob::State::withdrawn);
      }
      std::erase_if(queue, [](const auto& image_job) { return image_job->ended(); });
    }
    std::erase_if(jobs_, [](const auto& entry) { return entry.second.empty(); });
  }

 private:
  std::shared_ptr<ImageJob> find(const Key& key, const std::string& build_id) const {
    const auto found = jobs_.find(key);
    if (found == jobs_.end()) return nullptr;
    for (const auto& image_job : found->second) {
      if (image_job->build_id == build_id) return image_job;
    }
    return nullptr;
  }

  static void set(ImageJob& image_job, ImageJob::State state) {
    image_job.state = state;
    image_job.changed.set();
  }

  std::map<Key, std::deque<std::shared_ptr<ImageJob>>> jobs_;  // no queue is empty
  bool closed_ = false;
};

}  // namespace nodepool::builder
