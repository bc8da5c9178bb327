#pragma once

#include <string>

namespace nodepool::planning {

// Identifies a pool.
struct PoolIdentity {
  std::string id;  // of its component
  std::string provider;
  std::string name;
};

}  // namespace nodepool::planning
