#include "telemetry/version.h"

namespace nodepool::telemetry {

std::string_view version() {
  return NODEPOOL_VERSION;
}

}  // namespace nodepool::telemetry
