#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace nodepool::api {

// Limits the rate of calls by client: `rate` calls a second on average, in bursts of up to ten
// seconds' calls. At most 10,000 clients have a bucket of their own at a time; the others share
// one.
class TokenBucket {
 public:
  // Whether the client may call now. `now` is a monotonic time in seconds.
  bool allows(const std::string& client, double rate, double now);

  // Counts further calls, whether they are allowed or not: the client's next ones may have to wait.
  void charge(const std::string& client, double calls, double rate, double now);

 private:
  struct Bucket {
    double calls = 0;   // that are allowed now; negative after a charge
    double filled = 0;  // time of the last update of `calls`
    double full = 0;    // when it is full without further calls
  };

  std::string name_of(const std::string& client, double now);
  Bucket& bucket_of(const std::string& client, double rate, double now);

  std::map<std::string, Bucket> buckets_;
  double swept_ = 0;  // when full buckets were last removed
};

}  // namespace nodepool::api
