#pragma once

#include <string>
#include <vector>

namespace nodepool::telemetry {

// Whether a daemon is ready, and its problems, as sentences.
struct Health {
  std::vector<std::string> obstacles;  // why it is not ready; empty: it is ready
  std::vector<std::string> warnings;   // problems that need attention although it is ready
};

}  // namespace nodepool::telemetry
