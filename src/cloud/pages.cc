#include "cloud/pages.h"

#include <fmt/format.h>

#include "driver/cloud_error.h"

namespace nodepool::cloud {

void Pages::fail(const std::string& problem) const {
  throw driver::CloudError(driver::CloudError::Kind::failed, call_ + ": " + problem);
}

bool Pages::turn(std::string next, std::size_t bytes, std::size_t objects) {
  bytes_ += bytes;
  if (bytes_ > limits_.bytes) {
    fail(fmt::format("the list is larger than {} MiB, the most that is read", limits_.bytes >> 20));
  }
  if (objects > limits_.objects) {
    fail(fmt::format("the list has more than {} objects, the most that are read", limits_.objects));
  }
  if (next.empty()) return false;
  if (!seen_.insert(next).second || seen_.size() >= limits_.pages) {
    fail("the pages of the list never end");
  }
  next_ = std::move(next);
  return true;
}

}  // namespace nodepool::cloud
