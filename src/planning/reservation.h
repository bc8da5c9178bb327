#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/resources.h"
#include "model/observers.h"
#include "planning/pool_stock.h"
#include "planning/resource_usage.h"

namespace nodepool::planning {

// The launches of a provider that have been decided on and have not ended, over all its pools.
class LaunchCount {
 public:
  std::int64_t under_way() const { return under_way_; }
  void begin(std::int64_t count) { under_way_ += count; }
  void end(std::int64_t count);

  // Calls `observer` when some have ended.
  coordination::Subscription observe(std::function<void()> observer) {
    return ended_.subscribe(std::move(observer));
  }

 private:
  std::int64_t under_way_ = 0;
  model::Observers<> ended_;
};

// What a request is promised that no record tells yet.
struct ReservationSpec {
  // For each of its labels the existing node; empty where one is to be launched.
  std::vector<std::string> plan = {};
  std::int64_t launches = 0;
  // Nothing for what is counted by records: existing nodes, and launches that are gone on with.
  driver::Resources of_provider = {};  // for nodes that have no record yet
  driver::Resources of_tenant = {};    // for nodes whose record does not name the tenant yet
};

// A claim that counts: its nodes are nobody else's, its launches are under way, its resources are
// taken. All of that is given back when it goes, however it goes. What it is made from outlives it.
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
