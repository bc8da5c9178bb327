#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

// Who believes to hold which node. A requestor says so once it has locked a node and seen that the
// node is meant for it, and until it begins to give the node back.
class Holds {
 public:
  explicit Holds(World& world) : world_(world) {}

  struct Hold {
    std::string holder;
    std::int64_t session = 0;  // ends with it; 0: a lease
    double expires = 0;        // of a lease, in wall-clock seconds
    std::string request;
  };

  void take(const std::string& node, Hold hold);
  void drop(const std::string& node, const std::string& holder);

  // Forgets the leases that have expired by now: no clock that is set back revives them.
  void forget_expired();

  // Forgets all: whoever held a node does not exist any more.
  void forget_all() { holds_.clear(); }

  // Whether somebody holds the node now.
  bool is_held(const std::string& node) const;

  // Who holds the node now; null if nobody does.
  const Hold* holder(const std::string& node) const;

 private:
  bool counts(const Hold& hold) const;

  World& world_;
  std::map<std::string, std::vector<Hold>> holds_;  // by node
};

}  // namespace nodepool::simulation
