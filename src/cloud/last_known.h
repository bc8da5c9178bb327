#pragma once

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/runtime.h"
#include "driver/cloud_error.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// What a secondary service of a cloud has answered last: its outage must not stop what works
// without it.
template <typename T>
class LastKnown {
 public:
  using Pointer = std::shared_ptr<const T>;
  using Ask = std::function<async::Task<Pointer>()>;

  // How long an unreachable service is not asked: each call may take until its timeout.
  static constexpr async::Duration kPause = std::chrono::seconds(30);

  // `what` is for the log: "volumes"; a literal. `none` serves before the first answer.
  LastKnown(const async::Runtime& runtime, telemetry::Logger log, std::string_view what, T none)
      : runtime_(runtime),
        log_(std::move(log)),
        what_(what),
        last_(std::make_shared<const T>(std::move(none))) {}

  // What `ask` returns; what it has returned last while the service is unreachable, with a warning.
  // Throws CloudErrors of other kinds.
  async::Task<Pointer> get(Ask ask) {
    if (runtime_.clock.now() < retry_at_) co_return last_;
    const auto retry_at = retry_at_;
    std::optional<driver::CloudError> failure;
    try {
      async::Task<Pointer> asking = ask();
      last_ = co_await std::move(asking);
      known_at_ = runtime_.clock.now();
    } catch (const driver::CloudError& error) {
      if (!is_of_service(error.kind())) throw;
      failure = error;
    }
    // Calls that were under way together report one outage.
    if (failure && retry_at_ == retry_at) unreachable(*failure);
    co_return last_;
  }

 private:
  // Whether the service does not work, and not the account. A 404 is a proxy's: the lists exist.
  static bool is_of_service(driver::CloudError::Kind kind) {
    using Kind = driver::CloudError::Kind;
    return kind == Kind::transient || kind == Kind::failed || kind == Kind::not_found;
  }

  void unreachable(const driver::CloudError& error) {
    const auto now = runtime_.clock.now();
    retry_at_ = now + kPause;
    if (!known_at_) return log_.warning("Error reading {}, not known yet: {}", what_, error.what());
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - *known_at_);
    log_.warning("Error reading {}, using those of {} s ago: {}", what_, age.count(), error.what());
  }

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::string_view what_;
  Pointer last_;
  std::optional<async::Clock::TimePoint> known_at_;
  async::Clock::TimePoint retry_at_{};
};

}  // namespace nodepool::cloud
