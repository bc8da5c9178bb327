#pragma once

#include <string>

namespace nodepool::planning {

// The pool that somebody works for.
struct PoolIdentity {
  std::string id;  // of its component
  std::string provider;
  std::string name;
};

}  // namespace nodepool::planning
