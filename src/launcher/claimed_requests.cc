#include "launcher/claimed_requests.h"

#include <utility>

namespace nodepool::launcher {

ClaimedRequests::Claim::Claim(Claim&& other) noexcept
    : all_(std::exchange(other.all_, nullptr)), id_(std::move(other.id_)) {}

ClaimedRequests::Claim& ClaimedRequests::Claim::operator=(Claim&& other) noexcept {
  release();
  all_ = std::exchange(other.all_, nullptr);
  id_ = std::move(other.id_);
  return *this;
}

ClaimedRequests::Claim::~Claim() {
  release();
}

void ClaimedRequests::Claim::release() {
  ClaimedRequests* all = std::exchange(all_, nullptr);
  if (all == nullptr) return;
  all->ids_.erase(id_);
  all->released_.notify(id_);
}

ClaimedRequests::Claim ClaimedRequests::claim(const std::string& id) {
  ids_.insert(id);
  return {*this, id};
}

}  // namespace nodepool::launcher
