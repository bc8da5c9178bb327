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
    fail(fmt::format("the list is larger than the limit of {} MiB", limits_.bytes >> 20));
  }
  if (objects > limits_.objects) {
    fail(fmt::format("the list has more than the limit of {} objects", limits_.objects));
  }
  if (next.empty()) return false;
  if (!seen_.insert(next).second || seen_.size() >= limits_.pages) {
    fail("the list has no last page");
  }
  next_ = std::move(next);
  return true;
}

async::Task<http::Response> list_response(async::Task<http::Response> call) {
  try {
    co_return co_await std::move(call);
  } catch (const driver::CloudError& error) {
    if (error.kind() != driver::CloudError::Kind::not_found) throw;
    throw driver::CloudError(driver::CloudError::Kind::failed, error.what(), {}, error.code());
  }
}

}  // namespace nodepool::cloud
