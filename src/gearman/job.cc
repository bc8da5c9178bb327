#include "gearman/job.h"

namespace nodepool::gearman {

template <typename Change>
void Job::post(Change change) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    change(mail_);
  }
  mail_came_();
}

void Job::status(Status status) {
  post([&](Updates& mail) { mail.status = status; });
}

void Job::data(std::string_view text) {
  post([&](Updates& mail) { mail.data.emplace_back(text.substr(0, kLongestAnswer)); });
}

void Job::warning(std::string_view text) {
  post([&](Updates& mail) { mail.warnings.emplace_back(text.substr(0, kLongestAnswer)); });
}

void Job::end(JobResult result) {
  post([&](Updates& mail) { mail.result = std::move(result); });
}

void Job::give_back() {
  post([](Updates& mail) { mail.given_back = true; });
}

Job::Updates Job::take_updates() {
  const std::lock_guard lock(mutex_);
  return std::exchange(mail_, {});
}

bool Job::has_updates() const {
  const std::lock_guard lock(mutex_);
  return !mail_.empty();
}

void Job::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  mail_ = {};
}

}  // namespace nodepool::gearman
