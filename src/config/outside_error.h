#pragma once

#include "config/problem.h"

namespace nodepool::config {

// The problem is outside of the file, in something that it refers to. The file may be valid on
// another machine.
class OutsideError : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

}  // namespace nodepool::config
