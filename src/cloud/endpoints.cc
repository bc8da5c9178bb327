#include "cloud/endpoints.h"

#include <algorithm>
#include <utility>

namespace nodepool::cloud {

Endpoint::Membership Endpoint::join(Member member) {
  members_.emplace(++last_, std::move(member));
  set_rate(lowest_rate());
  return last_;
}

async::Task<> Endpoint::leave(Membership membership) {
  members_.erase(membership);
  closed_ = members_.empty();
  if (closed_) co_return co_await stop();
  set_rate(lowest_rate());
}

void Endpoint::report(const http::Attempt& attempt) const {
  if (members_.empty()) return;
  const auto& on_attempt = members_.begin()->second.on_attempt;
  if (on_attempt) on_attempt(attempt);
}

double Endpoint::lowest_rate() const {
  double lowest = 0;
  for (const auto& [membership, member] : members_) {
    if (member.rate > 0) lowest = lowest > 0 ? std::min(lowest, member.rate) : member.rate;
  }
  return lowest;
}

}  // namespace nodepool::cloud
