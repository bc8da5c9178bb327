#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/ownership.h"
#include "driver/statemachine/instance.h"

namespace nodepool::driver {

// Queries of a provider's records.
struct RecordQueries {
  enum class Node {
    none,        // there is no such node
    is_another,  // the resource was made for an earlier node with the same id
    has_other,   // the node has another machine
    has_it,      // the resource belongs to the node, or may belong to it
  };
  std::function<Node(const std::string& node_id, const Resource& resource)> node;
  // Whether there is such an upload to the provider.
  std::function<bool(const std::string& build_id, const std::string& upload_id)> upload;
};

// The leftovers, and the resources that are tagged with the provider's name and have no record.
// Those without proof that this installation made them are reported, but may not be deleted: they
// may belong to another Nodepool with a provider of this name, or to this one before its store was
// lost.
std::vector<Leak> find_leaks(const std::vector<Resource>& resources, const Ownership& ownership,
                             const RecordQueries& records);

// The leaks of the previous search. A leak that is found once may have a record that this launcher
// has not received yet, or may be about to disappear.
class LeakMemory {
 public:
  // Returns the leftovers, and the leaks that the previous call got as well.
  std::vector<Leak> seen_again(std::vector<Leak> leaks);

 private:
  std::set<std::string> seen_;
};

// The name of a leak in messages; unique within a provider.
std::string name_of(const Leak& leak);

}  // namespace nodepool::driver
