#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "model/component.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "telemetry/metric.h"

namespace nodepool::launcher {

// The numbers of nodes by state, provider and label, and of requests by labels, of all launchers.
// Updated with each change of a record.
class NodeCounts {
 public:
  NodeCounts(model::NodeTable& nodes, model::RequestTable& requests);

  using Values = std::map<telemetry::Series, std::int64_t>;

  // The gauges, with 0 for labels of the registered `pools` without nodes. `now` is in seconds
  // since the epoch.
  Values values(const std::vector<const model::Component*>& pools, double now) const;

 private:
  using Labels = std::vector<std::string>;                    // sorted, each once
  using OpenRequests = std::map<std::int64_t, std::int64_t>;  // by creation time in milliseconds

  void count(const model::Node& node, int sign);
  void count(const model::NodeRequest& request, int sign);
  std::int64_t addressable_by(const model::Component& pool) const;

  std::map<model::NodeState, std::int64_t> nodes_;
  std::map<std::tuple<std::string, model::NodeState>, std::int64_t> nodes_by_provider_;
  std::map<std::tuple<std::string, model::NodeState>, std::int64_t> nodes_by_label_;
  std::map<Labels, std::int64_t> requests_;
  std::map<model::RequestState, std::int64_t> requests_by_state_;
  OpenRequests open_requests_;
  std::map<std::string, OpenRequests> open_requests_by_label_;
  coordination::Subscription node_changes_;
  coordination::Subscription request_changes_;
};

}  // namespace nodepool::launcher
