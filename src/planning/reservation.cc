#include "planning/reservation.h"

#include <utility>

namespace nodepool::planning {

void LaunchCount::end(std::int64_t count) {
  under_way_ -= count;
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
  launches_->begin(spec_.launches);
}

Reservation::~Reservation() {
  stock_.release(spec_.plan);
  usage_.release(pool_id_, request_id_);
  if (spec_.launches > 0) launches_->end(spec_.launches);
}

}  // namespace nodepool::planning
