#include "driver/offer.h"

#include <set>

namespace nodepool::driver {

const PoolOffer& Offer::pool(std::string_view name) const {
  static const PoolOffer kNone;
  const auto found = pools.find(name);
  return found == pools.end() ? kNone : found->second;
}

const LabelOffer& Offer::label(std::string_view pool, std::string_view label) const {
  static const LabelOffer kPlain;
  const auto& labels = this->pool(pool).labels;
  const auto found = labels.find(label);
  return found == labels.end() ? kPlain : found->second;
}

std::map<std::string, std::int64_t, std::less<>> count_by_label(const Inventory& inventory) {
  std::map<std::string, std::int64_t, std::less<>> counts;
  for (const std::vector<std::string>& labels : inventory) {
    // The configuration may repeat a label of a host.
    for (const std::string& label : std::set(labels.begin(), labels.end())) ++counts[label];
  }
  return counts;
}

}  // namespace nodepool::driver
