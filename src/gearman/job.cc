#include "gearman/job.h"

namespace nodepool::gearman {

template <typename Change>
void Job::post(Change change) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    change(updates_);
  }
  on_update_();
}

void Job::status(Status status) {
  post([&](Updates& updates) { updates.status = status; });
}

void Job::data(std::string_view text) {
  post([&](Updates& updates) { updates.data.emplace_back(text.substr(0, kLongestAnswer)); });
}

void Job::warning(std::string_view text) {
  post([&](Updates& updates) { updates.warnings.emplace_back(text.substr(0, kLongestAnswer)); });
}

void Job::end(JobResult result) {
  post([&](Updates& updates) { updates.result = std::move(result); });
}

void Job::give_back() {
  post([](Updates& updates) { updates.given_back = true; });
}

Job::Updates Job::take_updates() {
  const std::lock_guard lock(mutex_);
  return std::exchange(updates_, {});
}

bool Job::has_updates() const {
  const std::lock_guard lock(mutex_);
  return !updates_.empty();
}

void Job::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  updates_ = {};
}

}  // namespace nodepool::gearman
