#pragma once

#include <cstdint>
#include <functional>

#include "async/task.h"

namespace nodepool::coordination {

// How often a FaultyStore does what. Chances are from 0 to 1.
struct FaultPlan {
  // For each operation.
  double disconnected = 0;  // not done, and reported so
  double lost_request = 0;  // a write is not done; its outcome is unknown to the caller
  double lost_answer = 0;   // a write is done or refused; its outcome is unknown to the caller
  double lost_session = 0;  // lose_session is called just before the operation
  // While it says so, no write is done: the store has no room. None: it always has.
  std::function<bool()> is_full = nullptr;

  // For each event of a watch.
  double extra_resync = 0;  // a resync comes before the event
  double lost_event = 0;    // a resync comes instead of the event

  // For each request, answer and event, which also keep those behind them waiting.
  double delay = 0;
  async::Duration longest_delay{};

  // Makes the wrapped store lose its session; without it no session is lost.
  std::function<void()> lose_session = nullptr;
};

// What a FaultyStore has done so far, by the names of the plan.
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
