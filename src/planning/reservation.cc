#include "planning/reservation.h"

#include <algorithm>
#include <utility>

namespace nodepool::planning {

void LaunchCount::begin(const std::string& request_id, std::int64_t count) {
  if (count == 0) return;
  by_request_[request_id] += count;
  under_way_ += count;
}

void LaunchCount::end(const std::string& request_id, std::int64_t at_most) {
  const auto launches = by_request_.find(request_id);
  if (launches == by_request_.end()) return;
  const std::int64_t ended = std::min(launches->second, at_most);
  launches->second -= ended;
  if (launches->second == 0) by_request_.erase(launches);
  under_way_ -= ended;
  ended_.notify();
}

Reservation::Reservation(PoolStock& stock, ResourceUsage& usage,
                         std::shared_ptr<LaunchCount> launches, const PoolIdentity& pool,
                         std::string request_id, const std::string& tenant,
                         ReservationSpec reservation)
    : stock_(stock),
      usage_(usage),
      launches_(std::move(launches)),
      pool_id_(pool.id),
      request_id_(std::move(request_id)),
      spec_(std::move(reservation)) {
  stock_.reserve(spec_.plan);
  if (!spec_.of_provider.empty() || !spec_.of_tenant.empty()) {
    usage_.reserve(pool_id_, request_id_,
                   {pool.provider, pool.name, tenant, spec_.of_provider, spec_.of_tenant});
  }
  launches_->begin(request_id_, spec_.launches);
}

Reservation::~Reservation() {
  stock_.release(spec_.plan);
  usage_.release(pool_id_, request_id_);
  launches_->end_all(request_id_);
}

}  // namespace nodepool::planning
