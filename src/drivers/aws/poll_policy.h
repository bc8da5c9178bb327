#pragma once

#include "async/clock.h"

namespace nodepool::drivers::aws {

// Poll intervals and cache times.
struct PollPolicy {
  // Between two polls of a list.
  async::Duration poll = std::chrono::milliseconds(1500);
  // Minimum between two polls if the expected boot time is known.
  async::Duration expected_poll = std::chrono::milliseconds(250);
  // How long other lists are cached.
  async::Duration list_age = std::chrono::seconds(10);
  // How long lists may omit a new instance.
  async::Duration consistency_delay = std::chrono::seconds(30);
  // How long AMIs that match filters, and quotas, are cached.
  async::Duration lookup_age = std::chrono::seconds(300);
};

}  // namespace nodepool::drivers::aws
