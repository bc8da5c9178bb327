#include "launcher/requests_in_hand.h"

#include <utility>

namespace nodepool::launcher {

RequestsInHand::Hold::Hold(Hold&& other) noexcept
    : all_(std::exchange(other.all_, nullptr)), id_(std::move(other.id_)) {}

RequestsInHand::Hold& RequestsInHand::Hold::operator=(Hold&& other) noexcept {
  release();
  all_ = std::exchange(other.all_, nullptr);
  id_ = std::move(other.id_);
  return *this;
}

RequestsInHand::Hold::~Hold() {
  release();
}

void RequestsInHand::Hold::release() {
  RequestsInHand* all = std::exchange(all_, nullptr);
  if (all == nullptr) return;
  all->ids_.erase(id_);
  all->released_.notify(id_);
}

RequestsInHand::Hold RequestsInHand::take(const std::string& id) {
  ids_.insert(id);
  return {*this, id};
}

}  // namespace nodepool::launcher
