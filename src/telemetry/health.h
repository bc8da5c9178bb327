#pragma once

#include <string>
#include <vector>

namespace nodepool::telemetry {

// Whether a daemon serves, in sentences for people.
struct Health {
  std::vector<std::string> obstacles;  // why it does not; none: it does
  std::vector<std::string> warnings;   // it does, but somebody should see to it
};

}  // namespace nodepool::telemetry
