#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/ownership.h"
#include "driver/statemachine/instance.h"

namespace nodepool::driver {

// Whether the machine that resources() shows as `resource_id` may be the one with this external id.
// Only ids that can be compared tell that it is another one.
bool may_be_machine(const model::Json& external_id, const std::string& resource_id);

// What the records of a provider say.
struct Records {
  enum class Node {
    none,        // there is no such node
    is_another,  // it was made for another one, which had the id before
    has_other,   // its machine is another one
    has_it,      // it is the node's, or may be
  };
  std::function<Node(const std::string& node_id, const Resource& resource)> node;
  // Whether there is such an upload to the provider.
  std::function<bool(const std::string& build_id, const std::string& upload_id)> upload;
};

// Those of `resources` that carry the provider's name, and that its records do not know. What the
// metadata does not prove to be this installation's own is somebody's whom the store knows nothing
// of: another Nodepool with a provider of this name, or this one before its store was lost.
std::vector<Leak> find_leaks(const std::vector<Resource>& resources, const Ownership& ownership,
                             const Records& records);

// Remembers what was seen last time: whatever is seen for the first time may have a record that is
// under way to this launcher, or be about to go.
class LeakMemory {
 public:
  // Those of `leaks` that were among them last time as well.
  std::vector<Leak> seen_again(std::vector<Leak> leaks);

 private:
  std::set<std::string> seen_;
};

// What a leak is called in messages, and told by.
std::string name_of(const Leak& leak);

}  // namespace nodepool::driver
