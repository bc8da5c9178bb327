#pragma once

#include <string_view>

namespace nodepool::telemetry {

// The release, e.g. "12.0.0": what --version prints and components publish.
std::string_view version();

}  // namespace nodepool::telemetry
