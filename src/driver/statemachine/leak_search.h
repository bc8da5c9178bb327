#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/leaks.h"
#include "driver/statemachine/machine_inventory.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// Finds and deletes the leaks of one provider: resources of nodes and uploads that have no record,
// and leftovers of the cloud. A failure of one service or deletion does not affect the
// others.
class LeakSearch {
 public:
  // The referenced objects outlive this.
  LeakSearch(ProviderContext context, std::string provider, Adapter& adapter,
             MachineInventory& machines, const Ownership& ownership, telemetry::Logger log);

  // Searches once, and deletes the leaks that the previous search found as well. Only logs those
  // that another installation may have made. Logs the first failure of a service, and the end of
  // its failures. Throws Cancelled.
  Task<> run();

  // The leaks at present. Throws CloudError.
  Task<std::vector<Leak>> leaks();

  // Deletes a leak. Succeeds if it does not exist. Throws CloudError.
  Task<> remove(Leak leak);

 private:
  // One service of the cloud, with the leaks of the previous search.
  struct Service {
    std::string what;
    Task<std::vector<Leak>> (LeakSearch::*find)();
    LeakMemory memory = {};
    std::set<std::string> reported = {};
    bool is_failing = false;
  };

  Task<> search(Service& service);
  Task<> clean(Service& service);
  Task<std::vector<Leak>> find_resources();
  Task<std::vector<Leak>> find_images();
  Task<bool> is_own_store();
  void report(Service& service, const std::vector<Leak>& leaks);
  Task<> remove_all(std::vector<Leak> leaks);
  Task<> remove_one(Leak leak);
  RecordQueries::Node record_of(const std::string& node_id, const Resource& resource) const;

  ProviderContext context_;
  std::string provider_;
  Adapter& adapter_;
  MachineInventory& machines_;
  const Ownership& ownership_;
  telemetry::Logger log_;
  std::array<Service, 2> services_;
  bool has_reported_store_ = false;
};

}  // namespace nodepool::driver
