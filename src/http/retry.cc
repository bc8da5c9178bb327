#include "http/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace nodepool::http {

namespace {

constexpr async::Duration kFirstPause = std::chrono::milliseconds(500);
constexpr async::Duration kLongestPause = std::chrono::seconds(30);

// Longer values of Retry-After are reduced to this.
constexpr auto kLongestRetryAfter = std::chrono::seconds(300);

}  // namespace

bool is_retryable_status(int status) {
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

async::Duration retry_pause(int attempt, async::Random& random) {
  const double factor = std::exp2(std::min(attempt - 1, 16));
  const async::Duration longest =
      std::min(kLongestPause, std::chrono::duration_cast<async::Duration>(kFirstPause * factor));
  return std::chrono::duration_cast<async::Duration>(longest * (0.5 + random.fraction() / 2));
}

std::optional<std::chrono::seconds> retry_after(std::string_view header, double now) {
  if (header.empty()) return std::nullopt;
  std::int64_t wait = 0;
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), wait);
  if (error != std::errc() || end != header.data() + header.size()) {
    const time_t when = curl_getdate(std::string(header).c_str(), nullptr);
    if (when < 0) return std::nullopt;
    wait = static_cast<std::int64_t>(std::ceil(static_cast<double>(when) - now));
  }
  return std::clamp(std::chrono::seconds(wait), std::chrono::seconds(0),
                    std::chrono::seconds(kLongestRetryAfter));
}

}  // namespace nodepool::http
