#include "api/token_bucket.h"

#include <algorithm>

namespace nodepool::api {

namespace {

constexpr double kBurstSeconds = 10;
constexpr std::size_t kMostBuckets = 10'000;
constexpr double kSweepPause = 1;  // seconds

double most_calls(double rate) {
  return std::max(1.0, rate * kBurstSeconds);
}

}  // namespace

// The name of the client's bucket; empty: the shared one. Full buckets are removed: they are equal
// to new ones.
std::string TokenBucket::name_of(const std::string& client, double now) {
  if (buckets_.size() < kMostBuckets || buckets_.contains(client)) return client;
  if (now >= swept_ + kSweepPause) {
    swept_ = now;
    std::erase_if(buckets_, [now](const auto& entry) { return entry.second.full <= now; });
  }
  return buckets_.size() < kMostBuckets ? client : std::string();
}

// The client's bucket, filled up to now.
TokenBucket::Bucket& TokenBucket::bucket_of(const std::string& client, double rate, double now) {
  const double most = most_calls(rate);
  const auto [found, is_new] = buckets_.try_emplace(name_of(client, now), Bucket{most, now, now});
  Bucket& bucket = found->second;
  bucket.calls = std::min(most, bucket.calls + (now - bucket.filled) * rate);
  bucket.filled = now;
  return bucket;
}

bool TokenBucket::allows(const std::string& client, double rate, double now) {
  if (bucket_of(client, rate, now).calls < 1) return false;
  charge(client, 1, rate, now);
  return true;
}

void TokenBucket::charge(const std::string& client, double calls, double rate, double now) {
  Bucket& bucket = bucket_of(client, rate, now);
  bucket.calls -= calls;
  bucket.full = now + (most_calls(rate) - bucket.calls) / rate;
}

}  // namespace nodepool::api
