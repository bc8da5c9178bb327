#pragma once

#include <string>
#include <utility>

#include "async/event_loop.h"
#include "async/random.h"
#include "driver/cloud_error.h"
#include "tests/cloud/hurried_clock.h"

namespace nodepool::drivers {

// The certificate authorities of an account: calls over TLS fail, and the error names the file.
inline constexpr char kMissingAuthorities[] = "/no/such/ca.pem";

// The URL of a server without TLS, as one with TLS.
inline std::string as_https(const std::string& url) {
  return "https" + url.substr(std::string("http").size());
}

// Makes calls that fail, without the pauses between their attempts.
class FailingCalls {
 public:
  explicit FailingCalls(async::EventLoop& loop) : loop_(loop) {}

  const async::Runtime& runtime() const { return runtime_; }

  // The error of the call; "none" if it succeeds.
  template <typename Result>
  std::string error_of(async::Task<Result> call) {
    try {
      loop_.run(std::move(call));
    } catch (const driver::CloudError& error) {
      return error.what();
    }
    return "none";
  }

 private:
  async::EventLoop& loop_;
  cloud::HurriedClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
};

}  // namespace nodepool::drivers
