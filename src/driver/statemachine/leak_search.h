#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "driver/driver.h"
#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/leaks.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// Deletes what belongs to nodes and uploads of one provider that are gone, and what the cloud
// leaves behind. A service of the cloud that fails, or one thing that cannot be deleted, keeps
// nothing else from being cleaned up.
class LeakSearch {
 public:
  // `context` as ProviderContext says; the others outlive it.
  LeakSearch(ProviderContext context, std::string provider, Adapter& adapter,
             const Ownership& ownership, telemetry::Logger log);

  // One search. What fails is logged: there is a next time. What this installation may not have
  // made is reported only. Throws Cancelled.
  Task<> run();

  // What there is now. Throws CloudError.
  Task<std::vector<Leak>> leaks();

  // Throws CloudError.
  Task<> remove(Leak leak);

 private:
  // What is looked for in one service of the cloud, with what was seen there last time.
  struct Service {
    std::string what;
    Task<std::vector<Leak>> (LeakSearch::*find)();
    LeakMemory memory = {};
    std::set<std::string> reported = {};
  };

  // Deletions side by side.
  struct Removals {
    std::size_t unfinished = 0;
    async::Event ended{"a leaked resource is deleted"};
  };

  Task<> search(std::string what, Task<> searching);
  Task<> remove_leftovers();
  Task<> clean(Service& service);
  Task<std::vector<Leak>> find_resources();
  Task<std::vector<Leak>> find_images();
  Task<bool> is_own_store();
  void report(Service& service, const std::vector<Leak>& leaks);
  Task<> remove_all(std::vector<Leak> leaks);
  Task<> remove_one(Leak leak, Removals& removals);
  Records::Node record_of(const std::string& node_id, const Resource& resource) const;

  ProviderContext context_;
  std::string provider_;
  Adapter& adapter_;
  const Ownership& ownership_;
  telemetry::Logger log_;
  std::array<Service, 2> services_;
  bool told_of_store_ = false;
};

}  // namespace nodepool::driver
