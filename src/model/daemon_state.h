#pragma once

#include <string>
#include <vector>

#include "model/component.h"

namespace nodepool::model {

// The state of a daemon that it publishes in its component's record.
struct DaemonState {
  double started = 0;                      // start of the process, seconds since the epoch
  double configuration_loaded = 0;         // the one in effect, seconds since the epoch
  std::string configuration_problem = {};  // why a newer one was rejected; empty: none was
  std::vector<std::string> problems = {};  // other problems, as texts

  void describe(Component& component) const {
    component.started = started;
    component.configuration_loaded = configuration_loaded;
    component.configuration_problem = configuration_problem;
    component.problems = problems;
  }
};

}  // namespace nodepool::model
