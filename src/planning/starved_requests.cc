#include "planning/starved_requests.h"

namespace nodepool::planning {

void StarvedRequests::add(const std::string& provider, const std::string& resource,
                          const std::string& pool_id, const ServiceKey& key) {
  requests_[{provider, resource}].emplace(key, pool_id);
}

void StarvedRequests::remove(const std::string& provider, const std::string& resource,
                             const std::string& pool_id, const ServiceKey& key) {
  const auto requests = requests_.find({provider, resource});
  if (requests == requests_.end() || requests->second.erase({key, pool_id}) == 0) return;
  if (requests->second.empty()) requests_.erase(requests);
  removed_.notify(key);
}

std::optional<StarvedRequests::ServiceKey> StarvedRequests::first_before(
    const std::string& provider, const driver::Resources& needs, const ServiceKey& key) const {
  std::optional<ServiceKey> first;
  for (auto entry = requests_.lower_bound({provider, {}}); entry != requests_.end(); ++entry) {
    const auto& [subject, requests] = *entry;
    if (subject.first != provider) break;
    if (needs.amount(subject.second) == 0) continue;
    const ServiceKey& candidate = requests.begin()->first;
    if (candidate < key && (!first || candidate < *first)) first = candidate;
  }
  return first;
}

}  // namespace nodepool::planning
