#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/event.h"

namespace nodepool::builder {

// A build or an upload that somebody waits for.
struct ImageJob {
  enum class State { waiting, begun, succeeded, failed, withdrawn };

  explicit ImageJob(std::string id) : build_id(std::move(id)) {}

  bool ended() const { return state != State::waiting && state != State::begun; }

  std::string build_id;
  State state = State::waiting;
  std::optional<int> percent_sent = {};  // of an upload that is being sent
  std::string problem = {};              // if it has failed
  async::Event changed{"an order has been taken up, has got on, or has ended"};
};

// What has been ordered of workers who look after `Key`s, in the order of the calls.
template <typename Key>
class ImageJobs {
 public:
  // The order of that build; the same as before if it has not ended.
  std::shared_ptr<ImageJob> place(const Key& key, const std::string& build_id) {
    if (auto known = find(key, build_id)) return known;
    auto image_job = std::make_shared<ImageJob>(build_id);
    if (closed_) {
      image_job->state = ImageJob::State::withdrawn;
      return image_job;
    }
    jobs_[key].push_back(image_job);
    return image_job;
  }

  // The next one; null if there is none.
  std::shared_ptr<ImageJob> next(const Key& key) const {
    const auto found = jobs_.find(key);
    return found == jobs_.end() ? nullptr : found->second.front();
  }

  // Who takes it up, how far that is, and how it ends, if it was ordered: with an empty `problem`
  // it has succeeded.
  void begin(const Key& key, const std::string& build_id) {
    if (const auto image_job = find(key, build_id)) set(*image_job, ImageJob::State::begun);
  }
  void sending(const Key& key, const std::string& build_id, int percent) {
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

  // Nobody wants it any more; no effect on one that has been begun.
  void withdraw(const Key& key, const ImageJob& image_job) {
    const auto found = jobs_.find(key);
    if (found == jobs_.end() || image_job.state != ImageJob::State::waiting) return;
    std::erase_if(found->second,
                  [&image_job](const auto& known) { return known.get() == &image_job; });
    if (found->second.empty()) jobs_.erase(found);
  }

  // What somebody waits for may have become impossible.
  void wake() {
    for (const auto& [key, queue] : jobs_) {
      for (const auto& image_job : queue) image_job->changed.set();
    }
  }

  // Nothing is begun any more.
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
