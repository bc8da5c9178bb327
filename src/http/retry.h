#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "async/clock.h"
#include "async/random.h"

namespace nodepool::http {

// Whether another attempt at the same call may have a better result: 429, 500, 502, 503, 504.
bool is_retryable_status(int status);

// The pause after the failed attempt with this number, from 1 on: exponential backoff with jitter.
async::Duration retry_pause(int attempt, async::Random& random);

// The delay of a Retry-After header (RFC 9110 §10.2.3: seconds or a date), at most five minutes.
// Returns nothing if the header is invalid. `now` is in seconds since the epoch.
std::optional<std::chrono::seconds> retry_after(std::string_view header, double now);

}  // namespace nodepool::http
