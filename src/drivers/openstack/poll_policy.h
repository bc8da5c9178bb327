#pragma once

#include "async/clock.h"

namespace nodepool::drivers::openstack {

// Poll intervals and timeouts.
struct PollPolicy {
  // Between two polls of a list. At the default rate of one call a second, leaves calls for
  // creating and deleting servers.
  async::Duration poll = std::chrono::milliseconds(1500);
  // Minimum between two polls if the expected boot time is known.
  async::Duration expected_poll = std::chrono::milliseconds(100);
  async::Duration image_poll = std::chrono::seconds(2);
  // Timeout for a floating IP to become ACTIVE.
  async::Duration floating_ip_limit = std::chrono::seconds(60);
  // How long the list may omit a new server.
  async::Duration consistency_delay = std::chrono::seconds(30);
  // How long a failed lookup is cached.
  async::Duration missing = std::chrono::seconds(60);
};

}  // namespace nodepool::drivers::openstack
