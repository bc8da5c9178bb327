#include "drivers/azure/api/arm_rate_limit.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

namespace nodepool::drivers::azure {

namespace {

constexpr std::string_view kPrefix = "x-ms-ratelimit-remaining-";
// From this number of remaining calls on, calls pause: the longer, the fewer remain.
constexpr std::int64_t kFew = 20;
constexpr async::Duration kPauseForEach = std::chrono::milliseconds(500);

void take_least(std::optional<std::int64_t>& least, std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end == digits.data()) return;
  least = std::min(least.value_or(number), number);
}

}  // namespace

// A number; or pairs "Microsoft.Compute/PutVM3Min;239,Microsoft.Compute/PutVMResource;11", which
// some responses have as a list in brackets. Their names change, so all count.
std::optional<std::int64_t> remaining_calls(const http::Headers& headers) {
  std::optional<std::int64_t> least;
  for (const auto& [name, value] : headers) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view text = value;
    if (text.find(';') == std::string_view::npos) take_least(least, text);
    for (std::size_t at = text.find(';'); at != std::string_view::npos;
         at = text.find(';', at + 1)) {
      if (!text.substr(0, at).ends_with("Resource")) take_least(least, text.substr(at + 1));
    }
  }
  return least;
}

void ArmRateLimit::observe(http::Precedence precedence, const http::Response& response) {
  const std::optional<std::int64_t> left = remaining_calls(response.headers);
  if (!left || *left >= kFew) return;
  auto& until = paused_until_[static_cast<std::size_t>(precedence)];
  until = std::max(until, clock_.now() + (kFew - std::max<std::int64_t>(*left, 0)) * kPauseForEach);
}

async::Task<> ArmRateLimit::turn(http::Precedence precedence) {
  const auto& until = paused_until_[static_cast<std::size_t>(precedence)];
  while (clock_.now() < until) co_await clock_.sleep_until(until);
  co_await governor_.turn(precedence);
}

}  // namespace nodepool::drivers::azure
