#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/resources.h"
#include "model/observers.h"
#include "planning/pool_stock.h"
#include "planning/resource_usage.h"

namespace nodepool::planning {

// The launches in progress of a provider, including accepted ones, in all its pools.
class LaunchCount {
 public:
  std::int64_t under_way() const { return under_way_; }

  // Counts so many launches of a request.
  void begin(const std::string& request_id, std::int64_t count);

  // One of them has ended. The others may take long.
  void end_one(const std::string& request_id) { end(request_id, 1); }

  // None of them is left.
  void end_all(const std::string& request_id) { end(request_id, under_way_); }

  // Calls `observer` when launches end.
  coordination::Subscription observe(std::function<void()> observer) {
    return ended_.subscribe(std::move(observer));
  }

 private:
  void end(const std::string& request_id, std::int64_t at_most);

  std::int64_t under_way_ = 0;
  std::map<std::string, std::int64_t> by_request_;
  model::Observers<> ended_;
};

// The needs of an accepted request that are not in records yet.
struct ReservationSpec {
  // The existing node for each label; empty: launch one.
  std::vector<std::string> plan = {};
  std::int64_t launches = 0;
  // Without existing nodes and resumed launches, which are counted by their records.
  driver::Resources of_provider = {};  // for nodes that have no record yet
  driver::Resources of_tenant = {};    // for nodes whose record does not name the tenant yet
};

// Reserves nodes, launches and resources for a request, and releases them in its destructor,
// without the launches that have ended already. The arguments outlive it.
class Reservation {
 public:
  Reservation(PoolStock& stock, ResourceUsage& usage, std::shared_ptr<LaunchCount> launches,
              const PoolIdentity& pool, std::string request_id, const std::string& tenant,
              ReservationSpec reservation);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  const std::vector<std::string>& plan() const { return spec_.plan; }

 private:
  PoolStock& stock_;
  ResourceUsage& usage_;
  std::shared_ptr<LaunchCount> launches_;
  std::string pool_id_;
  std::string request_id_;
  ReservationSpec spec_;
};

}  // namespace nodepool::planning
