#pragma once

#include <string_view>

namespace nodepool::telemetry {

// The release, e.g. "12.0.0", for --version and the records of components.
std::string_view version();

}  // namespace nodepool::telemetry
