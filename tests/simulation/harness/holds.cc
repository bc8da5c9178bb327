#include "tests/simulation/harness/holds.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodepool::simulation {

bool Holds::counts(const Hold& hold) const {
  if (hold.session != 0) return world_.server.has_session(hold.session);
  return world_.clock.wall_seconds() < hold.expires;
}

void Holds::take(const std::string& node, Hold hold) {
  if (const Hold* other = holder(node)) {
    world_.journal.violation(
        fmt::format("node {} is held by {} and by {} at once", node, other->holder, hold.holder));
  }
  holds_[node].push_back(std::move(hold));
}

void Holds::drop(const std::string& node, const std::string& holder) {
  std::erase_if(holds_[node], [&holder](const Hold& hold) { return hold.holder == holder; });
}

void Holds::forget_expired() {
  for (auto& [node, holds] : holds_) {
    std::erase_if(holds, [this](const Hold& hold) { return !counts(hold); });
  }
}

bool Holds::is_held(const std::string& node) const {
  return holder(node) != nullptr;
}

const Holds::Hold* Holds::holder(const std::string& node) const {
  const auto found = holds_.find(node);
  if (found == holds_.end()) return nullptr;
  for (const Hold& hold : found->second) {
    if (counts(hold)) return &hold;
  }
  return nullptr;
}

}  // namespace nodepool::simulation
