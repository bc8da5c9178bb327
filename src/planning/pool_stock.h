#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "planning/pool_identity.h"

namespace nodepool::planning {

// The existing nodes of one pool as its worker sees them: free ones, less those that it is handing
// out at this moment.
class PoolStock {
 public:
  PoolStock(const model::NodeTable& nodes, const PoolIdentity& pool);

  // Goes over to another provider object.
  void reconfigure(std::shared_ptr<driver::Provider> provider);

  // For each of the request's labels the free node to hand out; empty where none is left, or where
  // the request wants no existing one. A node with several labels counts for each of them, but
  // serves only one. Nodes that `is_preferred` come first.
  std::vector<std::string> choose(
      const model::NodeRequest& request,
      const std::function<bool(const std::string& id)>& is_preferred) const;

  // The nodes of `plan` are being handed out, or no longer.
  void reserve(const std::vector<std::string>& plan);
  void release(const std::vector<std::string>& plan);
  bool is_reserved(std::string_view id) const { return reserved_.contains(id); }

  // How many nodes of the label the pool has with everything in good order; nothing: no bound.
  std::optional<std::int64_t> capacity(std::string_view label) const;

  // Whether the pool's nodes, with everything in good order, can carry the labels at once.
  bool has_all_at_once(const std::vector<std::string>& labels) const;

  // The labels of all nodes that carry one of `labels`, these among them: requests for any of them
  // are after the same nodes.
  std::set<std::string, std::less<>> rivals(const std::vector<std::string>& labels) const;

 private:
  const model::NodeTable& nodes_;
  const PoolIdentity& pool_;
  std::shared_ptr<driver::Provider> provider_;
  std::set<std::string, std::less<>> reserved_;
  // Label -> labels of the nodes that carry it as well.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> companions_;
};

}  // namespace nodepool::planning
