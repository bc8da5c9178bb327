#pragma once

#include <string_view>

namespace nodepool::telemetry {

// The version, e.g. "12.0.0", for --version and the records of components: cmake/Version.cmake.
std::string_view version();

}  // namespace nodepool::telemetry
