#pragma once

#include <functional>

#include "async/runtime.h"
#include "driver/cloud_error.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

inline constexpr async::Duration kPatience = std::chrono::minutes(10);
inline constexpr async::Duration kPatientPause = std::chrono::seconds(5);

// Makes a call that does no harm if it is carried out twice, again and again as long as AWS is out
// of reach or asks for that, within limits: what has been sent of a large file is worth waiting
// for. What `call` uses outlives this. Throws CloudError, Cancelled.
template <typename Result>
async::Task<Result> retry_while_unreachable(async::Runtime runtime, telemetry::Logger log,
                                            std::function<async::Task<Result>()> call) {
  using Kind = driver::CloudError::Kind;
  const auto until = runtime.clock.now() + kPatience;
  while (true) {
    try {
      async::Task<Result> calling = call();
      co_return co_await std::move(calling);
    } catch (const driver::CloudError& error) {
      const bool may_pass =
          error.kind() == Kind::transient || error.kind() == Kind::unknown_outcome;
      if (!may_pass || runtime.clock.now() >= until) throw;
      log.warning("{}; it is tried again", error.what());
    }
    co_await runtime.clock.sleep_for(kPatientPause);
  }
}

}  // namespace nodepool::drivers::aws
