#include "planning/reservation.h"

#include <utility>

namespace nodepool::planning {

void LaunchCount::end(std::int64_t count) {
  under_way_ -= count;
  ended_.notify();
}

Reservation::Reservation(PoolStock& stock, Usage& usage, std::shared_ptr<LaunchCount> launches,
                         const PoolIdentity& pool, std::string request_id,
                         const std::string& tenant, Claim claim)
    : stock_(stock),
      usage_(usage),
      launches_(std::move(launches)),
      pool_id_(pool.id),
      request_id_(std::move(request_id)),
      claim_(std::move(claim)) {
  stock_.reserve(claim_.plan);
  if (!claim_.of_provider.empty() || !claim_.of_tenant.empty()) {
    usage_.book(pool_id_, request_id_,
                {pool.provider, pool.name, tenant, claim_.of_provider, claim_.of_tenant});
  }
  launches_->begin(claim_.launches);
}

Reservation::~Reservation() {
  stock_.release(claim_.plan);
  usage_.unbook(pool_id_, request_id_);
  if (claim_.launches > 0) launches_->end(claim_.launches);
}

}  // namespace nodepool::planning
