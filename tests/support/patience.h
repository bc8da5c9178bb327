#pragma once

#include <chrono>

namespace nodepool::test_support {

// The real-time limit for an expected event: ten times the longest of these waits on an idle
// machine. It only ends hanging tests; a passing test must not take that long.
inline constexpr auto kPatience = std::chrono::minutes(5);

}  // namespace nodepool::test_support
