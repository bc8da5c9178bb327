#pragma once

#include "async/clock.h"

namespace nodepool::drivers::aws {

// How often the cloud is looked at, and how long is waited for it.
struct PollPolicy {
  // Between two looks at a list, however many wait for something in it.
  async::Duration poll = std::chrono::milliseconds(1500);
  // … and at least, where it is known when machines come up.
  async::Duration expected_poll = std::chrono::milliseconds(250);
  // Lists that nobody waits in.
  async::Duration list_age = std::chrono::seconds(10);
  // After that a machine that was made is in the list, or gone.
  async::Duration consistency_delay = std::chrono::seconds(30);
  // What images meet a filter, and what the quotas are.
  async::Duration lookup_age = std::chrono::seconds(300);
};

}  // namespace nodepool::drivers::aws
