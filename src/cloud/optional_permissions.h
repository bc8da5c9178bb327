#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "async/task.h"
#include "driver/cloud_error.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// A permission that a provider can work without. The texts are literals.
struct OptionalPermission {
  std::string_view name;         // "s3:ListBucket"
  std::string_view consequence;  // of its absence: "interrupted uploads start anew"
};

// Makes calls whose permissions are optional. Warns once of each absent one and its consequence.
class OptionalPermissions {
 public:
  explicit OptionalPermissions(telemetry::Logger log) : log_(std::move(log)) {}

  // The result of the call. Returns nothing if the cloud does not permit the call: the result is
  // unknown. Throws other CloudErrors.
  template <typename Result>
  async::Task<std::optional<Result>> if_permitted(async::Task<Result> call,
                                                  OptionalPermission permission) {
    try {
      co_return co_await std::move(call);
    } catch (const driver::CloudError& error) {
      if (error.kind() != driver::CloudError::Kind::permanent) throw;
      report(permission, error);
    }
    co_return std::nullopt;
  }

  // The same for a call without a result: returns whether it was permitted.
  async::Task<bool> if_permitted(async::Task<> call, OptionalPermission permission);

 private:
  void report(const OptionalPermission& permission, const driver::CloudError& error);

  telemetry::Logger log_;
  std::set<std::string_view> reported_;  // consequences
};

}  // namespace nodepool::cloud
