#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "driver/statemachine/instance.h"

namespace nodepool::driver {

// Whether the machine that resources() shows as `resource_id` may be the one with this external id.
// Only ids that can be compared tell that it is another one.
bool may_be_machine(const model::Json& external_id, const std::string& resource_id);

// Which of a provider's resources belong to nobody any more. Whatever is seen for the first time is
// only remembered: its record may be under way to this launcher, or the resource about to go.
class LeakDetector {
 public:
  // What the records say.
  struct Known {
    // Whether there is such a node of the provider, and this resource can be its.
    std::function<bool(const std::string& node_id, const Resource& resource)> node;
    // Whether there is such an upload to the provider.
    std::function<bool(const std::string& build_id, const std::string& upload_id)> upload;
  };

  explicit LeakDetector(std::string provider) : provider_(std::move(provider)) {}

  // Those of `resources` that were unknown last time as well.
  std::vector<Resource> look_at(const std::vector<Resource>& resources, const Known& known);

 private:
  std::string provider_;
  std::set<std::string> suspects_;  // of the last look
};

}  // namespace nodepool::driver
