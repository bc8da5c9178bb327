#include "api/token_bucket.h"

#include <algorithm>

namespace nodepool::api {

namespace {

constexpr double kBurstSeconds = 10;
constexpr std::size_t kMostBuckets = 10'000;
constexpr double kSweepPause = 1;  // seconds

}  // namespace

// The name of the client's bucket; empty: the shared one. Full buckets are removed: they are equal
// to new ones.
std::string TokenBucket::bucket_of(const std::string& client, double now) {
  if (buckets_.size() < kMostBuckets || buckets_.contains(client)) return client;
  if (now >= swept_ + kSweepPause) {
    swept_ = now;
    std::erase_if(buckets_, [now](const auto& entry) { return entry.second.full <= now; });
  }
  return buckets_.size() < kMostBuckets ? client : std::string();
}

bool TokenBucket::allows(const std::string& client, double rate, double now) {
  const double most = std::max(1.0, rate * kBurstSeconds);
  const auto [found, is_new] = buckets_.try_emplace(bucket_of(client, now), Bucket{most, now, now});
  Bucket& bucket = found->second;
  bucket.calls = std::min(most, bucket.calls + (now - bucket.filled) * rate);
  bucket.filled = now;
  const bool is_allowed = bucket.calls >= 1;
  if (is_allowed) bucket.calls -= 1;
  bucket.full = now + (most - bucket.calls) / rate;
  return is_allowed;
}

}  // namespace nodepool::api
