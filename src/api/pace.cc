#include "api/pace.h"

#include <algorithm>

namespace nodepool::api {

namespace {

constexpr double kBurstSeconds = 10;

}  // namespace

bool Pace::allows(const std::string& client, double rate, double now) {
  const double most = std::max(1.0, rate * kBurstSeconds);
  const auto [found, is_new] = buckets_.try_emplace(client, Bucket{most, now});
  Bucket& bucket = found->second;
  bucket.calls = std::min(most, bucket.calls + (now - bucket.filled) * rate);
  bucket.filled = now;
  if (bucket.calls < 1) return false;
  bucket.calls -= 1;
  return true;
}

}  // namespace nodepool::api
