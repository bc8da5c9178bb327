#include "launcher/handled_requests.h"

#include <utility>

namespace nodepool::launcher {

HandledRequests::Mark::Mark(Mark&& other) noexcept
    : all_(std::exchange(other.all_, nullptr)), id_(std::move(other.id_)) {}

HandledRequests::Mark& HandledRequests::Mark::operator=(Mark&& other) noexcept {
  release();
  all_ = std::exchange(other.all_, nullptr);
  id_ = std::move(other.id_);
  return *this;
}

HandledRequests::Mark::~Mark() {
  release();
}

void HandledRequests::Mark::release() {
  HandledRequests* all = std::exchange(all_, nullptr);
  if (all == nullptr) return;
  all->ids_.erase(id_);
  all->released_.notify(id_);
}

HandledRequests::Mark HandledRequests::mark(const std::string& id) {
  ids_.insert(id);
  return {*this, id};
}

}  // namespace nodepool::launcher
