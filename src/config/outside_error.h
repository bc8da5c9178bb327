#pragma once

#include "config/problem.h"

namespace nodepool::config {

// What is wrong lies outside of the file, where it refers to: it may be right on another machine.
class OutsideError : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

}  // namespace nodepool::config
