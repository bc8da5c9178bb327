#pragma once

#include "async/slots.h"
#include "launcher/launch_refusals.h"
#include "planning/reservation.h"

namespace nodepool::launcher {

// The launches of a provider, over all its pools. A provider that replaces another one of its name
// continues with these.
struct ProviderLaunches {
  planning::LaunchCount count;                   // in progress
  async::Slots slots{async::Slots::kUnlimited};  // `max-concurrency`
  LaunchRefusals refusals;
};

}  // namespace nodepool::launcher
