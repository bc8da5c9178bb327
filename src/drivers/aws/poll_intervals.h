#pragma once

#include "async/clock.h"

namespace nodepool::drivers::aws {

// Between two polls of a list.
inline constexpr async::Duration kPollInterval = std::chrono::milliseconds(1500);
// Minimum between two polls if the expected boot time is known.
inline constexpr async::Duration kExpectedPollInterval = std::chrono::milliseconds(250);
// How long other lists are cached.
inline constexpr async::Duration kListAge = std::chrono::seconds(10);
// How long lists may omit a new instance.
inline constexpr async::Duration kConsistencyDelay = std::chrono::seconds(30);
// How long AMIs that match filters, and quotas, are cached.
inline constexpr async::Duration kLookupAge = std::chrono::seconds(300);

}  // namespace nodepool::drivers::aws
