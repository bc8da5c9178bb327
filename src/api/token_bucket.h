#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace nodepool::api {

// How often each client may call: `rate` times a second on the average, and for a moment as often
// as it could have in the ten seconds before (a token bucket). At most 10,000 clients
// have a bucket of their own at a time; the others share one.
class TokenBucket {
 public:
  // Whether the client may call now. `now` is a monotonic time in seconds.
  bool allows(const std::string& client, double rate, double now);

 private:
  struct Bucket {
    double calls = 0;  // that may be made at once
    double filled = 0;
    double full = 0;  // when, without further calls
  };

  std::string bucket_of(const std::string& client, double now);

  std::map<std::string, Bucket> buckets_;
  double swept_ = 0;  // when those that are full were forgotten
};

}  // namespace nodepool::api
