#pragma once

#include <chrono>

namespace nodepool::test_support {

// How long a test waits in real time for what has to come: ten times what the slowest of these
// waits takes on an idle machine. It only decides when a test that would hang is given up; no test
// may take as long to pass.
inline constexpr auto kPatience = std::chrono::minutes(5);

}  // namespace nodepool::test_support
