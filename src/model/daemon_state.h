#pragma once

#include <string>
#include <vector>

#include "model/component.h"

namespace nodepool::model {

// What a daemon knows of itself, whatever it serves, and tells in its component's record.
struct DaemonState {
  double started = 0;                      // the process, seconds since the epoch
  double configuration_loaded = 0;         // the one in force, seconds since the epoch
  std::string configuration_problem = {};  // why a later one is not in force; empty: there is none
  std::vector<std::string> problems = {};  // what else is not as it should be

  void describe(Component& component) const {
    component.started = started;
    component.configuration_loaded = configuration_loaded;
    component.configuration_problem = configuration_problem;
    component.problems = problems;
  }
};

}  // namespace nodepool::model
