#include "driver/offer.h"

#include <algorithm>

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

std::int64_t count(const Inventory& inventory, std::string_view label) {
  return std::ranges::count_if(inventory, [label](const std::vector<std::string>& labels) {
    return std::ranges::find(labels, label) != labels.end();
  });
}

}  // namespace nodepool::driver
