#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

// The records of a store without those of its sessions, and how far it has counted. One that was
// never taken is an empty store.
class Backup {
 public:
  static Backup take(World& world);

  // The store holds this and nothing else; everybody's locks and registrations are gone.
  void restore(World& world) const;

 private:
  void collect(const coordination::memory::Tree& tree, const std::string& parent);

  std::vector<std::pair<std::string, std::string>> records_;  // path and data, parents first
  std::map<std::string, std::int64_t> numbers_;  // by parent: of its next sequential child
};

}  // namespace nodepool::simulation
