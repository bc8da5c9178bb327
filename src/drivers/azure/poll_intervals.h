#pragma once

#include "async/clock.h"

namespace nodepool::drivers::azure {

// Between two polls of a list or a resource.
inline constexpr async::Duration kPollInterval = std::chrono::milliseconds(1500);
// Minimum between two polls if the expected boot time is known.
inline constexpr async::Duration kExpectedPollInterval = std::chrono::milliseconds(500);
// How long other lists are cached.
inline constexpr async::Duration kListAge = std::chrono::seconds(10);
// How long lists may omit a new resource.
inline constexpr async::Duration kConsistencyDelay = std::chrono::seconds(30);
// How long images that match a filter, limits, and that a size is not offered are cached.
inline constexpr async::Duration kLookupAge = std::chrono::seconds(300);
// How long sizes are cached, and that the resource group exists.
inline constexpr async::Duration kSizesAge = std::chrono::hours(1);

}  // namespace nodepool::drivers::azure
