#include "planning/resource_usage.h"

#include <algorithm>

namespace nodepool::planning {

namespace {

template <typename Map, typename Key>
const Resources& sum_of(const Map& sums, const Key& key) {
  static const Resources kNothing;
  const auto found = sums.find(key);
  return found == sums.end() ? kNothing : found->second;
}

template <typename Map, typename Key>
void subtract_from(Map& sums, const Key& key, const Resources& resources) {
  const auto found = sums.find(key);
  if (found == sums.end()) return;
  found->second -= resources;
  if (found->second.empty()) sums.erase(found);
}

std::string booking_key(const std::string& pool_id, const std::string& request_id) {
  return request_id + " " + pool_id;
}

// Whether `after` has less of a resource than `before`.
bool has_less(Resources after, const Resources& before) {
  after -= before;
  return std::ranges::any_of(after.amounts(), [](const auto& each) { return each.second < 0; });
}

}  // namespace

ResourceUsage::ResourceUsage(model::NodeTable& nodes, LabelResources label_resources)
    : nodes_(nodes), needs_of_(std::move(label_resources)) {
  subscription_ = nodes_.observe([this](const model::NodeTable::Change& change) {
    count_node(change.id, change.after == nullptr ? std::nullopt : share_of(*change.after));
  });
  for (const auto& [id, node] : nodes_.all()) count_node(id, share_of(node));
}

const Resources& ResourceUsage::of_provider(std::string_view provider) const {
  return sum_of(providers_, provider);
}

const Resources& ResourceUsage::of_pool(std::string_view provider, std::string_view pool) const {
  return sum_of(pools_, std::tuple(provider, pool));
}

const Resources& ResourceUsage::of_tenant(std::string_view tenant) const {
  return sum_of(tenants_, tenant);
}

std::vector<std::pair<std::string, std::string>> ResourceUsage::pools() const {
  std::vector<std::pair<std::string, std::string>> pools;
  pools.reserve(pools_.size());
  for (const auto& [pool, taken] : pools_) pools.emplace_back(std::get<0>(pool), std::get<1>(pool));
  return pools;
}

Resources ResourceUsage::of_provider_until(std::string_view provider, std::string_view last) const {
  Resources sum;
  for (const std::string& id : nodes_.of_provider(provider)) {
    if (id > last) break;
    if (const Share* share = share_of(id)) sum += share->of_provider;
  }
  return sum;
}

Resources ResourceUsage::of_pool_until(std::string_view provider, std::string_view pool,
                                       std::string_view last) const {
  Resources sum;
  for (const std::string& id : nodes_.of_provider(provider)) {
    if (id > last) break;
    const Share* share = share_of(id);
    if (share != nullptr && share->pool == pool) sum += share->of_provider;
  }
  return sum;
}

Resources ResourceUsage::of_tenant_until(std::string_view tenant, std::string_view last) const {
  Resources sum;
  const auto nodes = nodes_by_tenant_.find(tenant);
  if (nodes == nodes_by_tenant_.end()) return sum;
  for (const std::string& id : nodes->second) {
    if (id > last) break;
    if (const Share* share = share_of(id)) sum += share->of_tenant;
  }
  return sum;
}

Resources ResourceUsage::of_tenant(const model::Node& node) {
  return Resources::parse(node.resources).value_or(Resources());
}

std::optional<ResourceUsage::Share> ResourceUsage::share_of(const model::Node& node) const {
  if (!node.provider) return std::nullopt;
  Share share{
      *node.provider, node.pool.value_or(""), node.tenant_name.value_or(""), {}, of_tenant(node)};
  if (const std::optional<Resources> recorded = Resources::parse(node.resources)) {
    share.of_provider = *recorded;
  } else if (node.pool && !node.type.empty()) {
    const std::optional<Resources> need = needs_of_(share.provider, share.pool, node.type.front());
    share.of_provider = need.value_or(Resources());
  }
  if (share.of_provider.empty() && share.of_tenant.empty()) return std::nullopt;
  return share;
}

const ResourceUsage::Share* ResourceUsage::share_of(const std::string& id) const {
  const auto known = by_node_.find(id);
  return known == by_node_.end() ? nullptr : &known->second;
}

void ResourceUsage::reserve(const std::string& pool_id, const std::string& request_id,
                            UsageEntry entry) {
  count(reserved_, booking_key(pool_id, request_id), std::move(entry));
}

void ResourceUsage::release(const std::string& pool_id, const std::string& request_id) {
  count(reserved_, booking_key(pool_id, request_id), std::nullopt);
}

void ResourceUsage::recount(const std::string& provider) {
  for (const std::string& id : nodes_.of_provider(provider)) {
    count_node(id, share_of(*nodes_.find(id)));
  }
}

void ResourceUsage::count_node(const std::string& id, std::optional<Share> share) {
  const Share* known = share_of(id);
  const std::string before = known == nullptr ? std::string() : known->tenant;
  const std::string after = share ? share->tenant : std::string();
  if (before != after && !before.empty()) {
    const auto nodes = nodes_by_tenant_.find(before);
    nodes->second.erase(id);
    if (nodes->second.empty()) nodes_by_tenant_.erase(nodes);
  }
  if (before != after && !after.empty()) nodes_by_tenant_[after].insert(id);
  count(by_node_, id, std::move(share));
}

// Replaces the old share by the new one.
void ResourceUsage::count(std::map<std::string, Share, std::less<>>& shares, const std::string& key,
                          std::optional<Share> share) {
  std::optional<Share> before;
  if (const auto known = shares.find(key); known != shares.end()) {
    before = std::move(known->second);
    shares.erase(known);
    subtract(*before);
  }
  if (share) {
    add(*share);
    shares.emplace(key, *share);
  }
  if (!before) return;
  // Each decrease wakes requests in many pools. None of them can be served because an idle node
  // gets a tenant.
  const bool same_pool =
      share && share->provider == before->provider && share->pool == before->pool;
  const bool same_tenant = share && share->tenant == before->tenant;
  Decrease less;
  if (has_less(same_pool ? share->of_provider : Resources(), before->of_provider)) {
    less.provider = before->provider;
  }
  if (has_less(same_tenant ? share->of_tenant : Resources(), before->of_tenant)) {
    less.tenant = before->tenant;
  }
  if (!less.provider.empty() || !less.tenant.empty()) decreased_.notify(less);
}

void ResourceUsage::add(const Share& share) {
  providers_[share.provider] += share.of_provider;
  pools_[{share.provider, share.pool}] += share.of_provider;
  if (!share.tenant.empty()) tenants_[share.tenant] += share.of_tenant;
}

void ResourceUsage::subtract(const Share& share) {
  subtract_from(providers_, share.provider, share.of_provider);
  subtract_from(pools_, std::tuple(share.provider, share.pool), share.of_provider);
  if (!share.tenant.empty()) subtract_from(tenants_, share.tenant, share.of_tenant);
}

}  // namespace nodepool::planning
