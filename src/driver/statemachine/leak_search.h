#pragma once

#include <functional>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/leaks.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// Deletes what belongs to nodes and uploads of one provider that are gone, and what the cloud leaves
// behind. A service of the cloud that fails, or one thing that cannot be deleted, keeps nothing else
// from being cleaned up.
class LeakSearch {
 public:
  // `context` as ProviderContext says; `adapter` outlives it.
  LeakSearch(ProviderContext context, std::string provider, Adapter& adapter,
             telemetry::Logger log);

  // One search. What fails is logged: there is a next time. Throws Cancelled.
  Task<> run();

 private:
  using Remove = std::function<Task<>(Resource resource)>;

  Task<> search(std::string what, Task<> searching);
  Task<> remove_leftovers();
  Task<> search_resources();
  Task<> search_images();
  Task<> remove_all(std::vector<Resource> leaked, Remove remove);
  Task<> remove_one(Resource resource, Remove remove, std::size_t& unfinished, async::Event& ended);
  bool is_of_node(const std::string& node_id, const Resource& resource) const;

  ProviderContext context_;
  std::string provider_;
  Adapter& adapter_;
  telemetry::Logger log_;
  LeakDetector resources_;
  LeakDetector images_;
};

}  // namespace nodepool::driver
