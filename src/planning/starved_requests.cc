#include "planning/starved_requests.h"

namespace nodepool::planning {

void StarvedRequests::add(const std::string& provider, const std::string& pool_id,
                          const ServiceKey& key) {
  by_provider_[provider].emplace(key, pool_id);
}

void StarvedRequests::remove(const std::string& provider, const std::string& pool_id,
                             const ServiceKey& key) {
  const auto requests = by_provider_.find(provider);
  if (requests == by_provider_.end() || requests->second.erase({key, pool_id}) == 0) return;
  if (requests->second.empty()) by_provider_.erase(requests);
  removed_.notify(key);
}

std::optional<StarvedRequests::ServiceKey> StarvedRequests::first_before(
    const std::string& provider, const ServiceKey& key) const {
  const auto requests = by_provider_.find(provider);
  if (requests == by_provider_.end()) return std::nullopt;
  const ServiceKey& first = requests->second.begin()->first;
  return first < key ? std::optional(first) : std::nullopt;
}

}  // namespace nodepool::planning
