#pragma once

#include <cstdint>
#include <functional>

#include "async/task.h"

namespace nodepool::coordination {

// The faults of a FaultyStore. Probabilities are from 0 to 1.
struct FaultPlan {
  // For each operation.
  double disconnected = 0;  // not executed; reported as such
  double lost_request = 0;  // a write is not executed; the outcome is unknown to the caller
  double lost_answer = 0;   // a write is executed; the outcome is unknown to the caller
  double lost_session = 0;  // lose_session is called just before the operation
  // While it returns true, writes fail with `no_space`. Null: never full.
  std::function<bool()> is_full = nullptr;

  // For each event of a watch.
  double extra_resync = 0;  // a resync comes before the event
  double lost_event = 0;    // a resync comes instead of the event

  // For each request, response and event; delays those behind it as well.
  double delay = 0;
  async::Duration longest_delay{};

  // Makes the wrapped store lose its session. Null: no session is lost.
  std::function<void()> lose_session = nullptr;
};

// The numbers of injected faults, named as in the plan.
struct FaultCounts {
  std::uint64_t disconnected = 0;
  std::uint64_t lost_request = 0;
  std::uint64_t lost_answer = 0;
  std::uint64_t lost_session = 0;
  std::uint64_t full = 0;
  std::uint64_t extra_resync = 0;
  std::uint64_t lost_event = 0;
  std::uint64_t delay = 0;

  friend bool operator==(const FaultCounts&, const FaultCounts&) = default;
};

}  // namespace nodepool::coordination
