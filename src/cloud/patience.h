#pragma once

#include <functional>

#include "async/runtime.h"
#include "driver/cloud_error.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

inline constexpr async::Duration kRetryLimit = std::chrono::minutes(10);
inline constexpr async::Duration kRetryPause = std::chrono::seconds(5);

// Makes an idempotent call, and retries it while the cloud is unreachable or asks for a retry, for
// up to `limit`: an upload of a large file is expensive to repeat. What `call` refers to outlives
// this. Throws CloudError, Cancelled.
template <typename Result>
async::Task<Result> retry_while_unreachable(async::Runtime runtime, telemetry::Logger log,
                                            std::function<async::Task<Result>()> call,
                                            async::Duration limit = kRetryLimit) {
  using Kind = driver::CloudError::Kind;
  const auto until = runtime.clock.now() + limit;
  while (true) {
    try {
      async::Task<Result> calling = call();
      co_return co_await std::move(calling);
    } catch (const driver::CloudError& error) {
      const bool is_retryable =
          error.kind() == Kind::transient || error.kind() == Kind::unknown_outcome;
      if (!is_retryable || runtime.clock.now() >= until) throw;
      log.warning("{}, retrying", error.what());
    }
    co_await runtime.clock.sleep_for(kRetryPause);
  }
}

}  // namespace nodepool::cloud
