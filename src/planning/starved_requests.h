#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "coordination/store.h"
#include "driver/resources.h"
#include "model/node_request.h"
#include "model/observers.h"

namespace nodepool::planning {

// The requests that have long waited for capacity of a provider, in any of its pools of this
// launcher. Later requests for other pools of the provider may not take that capacity: a large
// request would never be served beside a backlog of small ones. They may take resources that no
// starved request lacks.
class StarvedRequests {
 public:
  using ServiceKey = model::NodeRequest::ServiceKey;

  // The pool has decided that the request waits for this resource of the provider, and it is
  // starved.
  void add(const std::string& provider, const std::string& resource, const std::string& pool_id,
           const ServiceKey& key);

  // The request no longer waits in the pool for that.
  void remove(const std::string& provider, const std::string& resource, const std::string& pool_id,
              const ServiceKey& key);

  // The first one before `key` in order of service that lacks one of the resources in `needs`.
  std::optional<ServiceKey> first_before(const std::string& provider,
                                         const driver::Resources& needs,
                                         const ServiceKey& key) const;

  // Calls `observer` with each request that others may pass from now on.
  coordination::Subscription observe(std::function<void(const ServiceKey&)> observer) {
    return removed_.subscribe(std::move(observer));
  }

 private:
  // By provider and resource; with the pool.
  std::map<std::pair<std::string, std::string>, std::set<std::pair<ServiceKey, std::string>>>
      requests_;
  model::Observers<const ServiceKey&> removed_;
};

}  // namespace nodepool::planning
