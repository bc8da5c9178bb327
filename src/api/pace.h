#pragma once

#include <map>
#include <string>

namespace nodepool::api {

// How often each client may call: `rate` times a second on the average, and for a moment as often
// as it could have in the ten seconds before (a token bucket).
class Pace {
 public:
  // Whether the client may call now. `now` is a monotonic time in seconds.
  bool allows(const std::string& client, double rate, double now);

 private:
  struct Bucket {
    double calls = 0;  // that may be made at once
    double filled = 0;
  };
  std::map<std::string, Bucket> buckets_;  // by the names of clients: as many as there are tokens
};

}  // namespace nodepool::api
