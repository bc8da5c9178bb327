#pragma once

#include "async/clock.h"

namespace nodepool::drivers::gce {

// Between two polls of the list of instances.
inline constexpr async::Duration kPollInterval = std::chrono::seconds(2);
// Minimum between two polls if the expected boot time is known.
inline constexpr async::Duration kExpectedPollInterval = std::chrono::milliseconds(250);
// How long lists and quotas are cached where age matters less.
inline constexpr async::Duration kListAge = std::chrono::seconds(10);
// How long images are cached.
inline constexpr async::Duration kLookupAge = std::chrono::seconds(300);

}  // namespace nodepool::drivers::gce
