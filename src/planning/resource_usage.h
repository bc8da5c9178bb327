#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "driver/resources.h"
#include "model/node_table.h"
#include "model/observers.h"

namespace nodepool::planning {

using driver::Resources;

// What nodes take of the resources of providers, pools and tenants: sums over all node records, in
// whatever state, and over what has been promised to requests whose nodes have no record yet. Kept
// up to date record by record.
class ResourceUsage {
 public:
  // What a node with this label takes if its record does not say. Nothing if this launcher does
  // not serve that pool and label: then such a node is not counted for its provider.
  using LabelResources = std::function<std::optional<Resources>(
      std::string_view provider, std::string_view pool, std::string_view label)>;

  ResourceUsage(model::NodeTable& nodes, LabelResources label_resources);

  const Resources& of_provider(std::string_view provider) const;
  const Resources& of_pool(std::string_view provider, std::string_view pool) const;
  const Resources& of_tenant(std::string_view tenant) const;

  // All pools that have something, whoever serves them: provider and name.
  std::vector<std::pair<std::string, std::string>> pools() const;

  // The same for records with ids up to `last` alone, without what has been promised: who has
  // recorded a node later gives way.
  Resources of_provider_until(std::string_view provider, std::string_view last) const;
  Resources of_pool_until(std::string_view provider, std::string_view pool,
                          std::string_view last) const;
  Resources of_tenant_until(std::string_view tenant, std::string_view last) const;

  // What it takes for the tenant that it names: what it says itself. A node that was made for a
  // tenant counts for it until another one has it, idle ones too.
  static Resources of_tenant(const model::Node& node);

  // What a request has been promised.
  struct UsageEntry {
    std::string provider;
    std::string pool;
    std::string tenant;     // empty: none
    Resources of_provider;  // for nodes that have no record yet
    Resources of_tenant;    // for nodes whose record does not name the tenant yet
  };

  // Counts it as taken until unbook(). Several pools may be about to serve the same request, until
  // its lock tells them apart: `pool_id` is the component's.
  void reserve(const std::string& pool_id, const std::string& request_id, UsageEntry booking);

  // The records say it now, or it will not be taken.
  void release(const std::string& pool_id, const std::string& request_id);

  // Counts the records of a provider anew: what its labels need has changed.
  void recount(const std::string& provider);

  // Something takes less than before.
  struct Decrease {
    std::string_view provider;
    std::string_view tenant;  // empty: none
  };
  coordination::Subscription observe(std::function<void(const Decrease&)> observer) {
    return decreased_.subscribe(std::move(observer));
  }

 private:
  using Share = UsageEntry;  // of a record in the sums; a static node's record names no resources

  // Nothing for a node that takes nothing.
  std::optional<Share> share_of(const model::Node& node) const;
  // What is counted of the node with this id; null if that is nothing.
  const Share* share_of(const std::string& id) const;
  void count_node(const std::string& id, std::optional<Share> share);
  void count(std::map<std::string, Share, std::less<>>& shares, const std::string& key,
             std::optional<Share> share);
  void add(const Share& share);
  void subtract(const Share& share);

  model::NodeTable& nodes_;
  LabelResources needs_of_;
  std::map<std::string, Share, std::less<>> by_node_;
  std::map<std::string, model::IdSet, std::less<>> nodes_by_tenant_;
  std::map<std::string, Share, std::less<>> reserved_;  // by request id and pool id
  std::map<std::string, Resources, std::less<>> providers_;
  std::map<std::tuple<std::string, std::string>, Resources, std::less<>> pools_;
  std::map<std::string, Resources, std::less<>> tenants_;
  model::Observers<const Decrease&> decreased_;
  coordination::Subscription subscription_;
};

}  // namespace nodepool::planning
