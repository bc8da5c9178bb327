#pragma once

#include <optional>
#include <utility>

#include "async/task.h"
#include "driver/cloud_error.h"

namespace nodepool::driver {

// The result of a call; nothing if its object does not exist (CloudError::not_found).
template <typename Result>
async::Task<std::optional<Result>> if_exists(async::Task<Result> call) {
  try {
    co_return co_await std::move(call);
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::not_found) throw;
  }
  co_return std::nullopt;
}

// The same for a call without a result: returns whether its object existed.
inline async::Task<bool> if_exists(async::Task<> call) {
  try {
    co_await std::move(call);
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::not_found) throw;
    co_return false;
  }
  co_return true;
}

}  // namespace nodepool::driver
