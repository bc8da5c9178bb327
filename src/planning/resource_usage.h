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

// The resource usage of providers, pools and tenants: the sums over all node records in any state,
// and over reservations for requests whose nodes have no record yet. Updated with each change of a
// record.
class ResourceUsage {
 public:
  // The resources of a node with this label if its record lacks them. Returns nothing if this
  // launcher does not serve that pool and label: such a node does not count for its provider.
  using LabelResources = std::function<std::optional<Resources>(
      std::string_view provider, std::string_view pool, std::string_view label)>;

  ResourceUsage(model::NodeTable& nodes, LabelResources label_resources);

  const Resources& of_provider(std::string_view provider) const;
  const Resources& of_pool(std::string_view provider, std::string_view pool) const;
  const Resources& of_tenant(std::string_view tenant) const;

  // All pools with usage, registered or not: provider and name.
  std::vector<std::pair<std::string, std::string>> pools() const;

  // The usage of records with ids up to `last`, without reservations. Settles races between
  // launchers.
  Resources of_provider_until(std::string_view provider, std::string_view last) const;
  Resources of_pool_until(std::string_view provider, std::string_view pool,
                          std::string_view last) const;
  Resources of_tenant_until(std::string_view tenant, std::string_view last) const;

  // The resources that count for the node's tenant, by its record. An idle node counts for its last
  // tenant.
  static Resources of_tenant(const model::Node& node);

  // The reservation of a request.
  struct UsageEntry {
    std::string provider;
    std::string pool;
    std::string tenant;     // empty: none
    Resources of_provider;  // for nodes that have no record yet
    Resources of_tenant;    // for nodes whose record does not name the tenant yet
  };

  // Counts `entry` as used until release(). Several pools may reserve for the same request until
  // one has its lock. `pool_id` is the id of the component.
  void reserve(const std::string& pool_id, const std::string& request_id, UsageEntry entry);

  // Ends a reservation: its nodes have records now, or it is not needed.
  void release(const std::string& pool_id, const std::string& request_id);

  // Recounts the records of a provider, after the needs of its labels have changed.
  void recount(const std::string& provider);

  // A decrease of usage. Empty: the usage is not less than before.
  struct Decrease {
    std::string_view provider;  // of it, or of one of its pools
    std::string_view tenant;
  };
  coordination::Subscription observe(std::function<void(const Decrease&)> observer) {
    return decreased_.subscribe(std::move(observer));
  }

 private:
  using Share = UsageEntry;  // of a record; records of static nodes have no resources

  // Returns nothing for a node without usage.
  std::optional<Share> share_of(const model::Node& node) const;
  // The counted share of the node. Returns nullptr if there is none.
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
