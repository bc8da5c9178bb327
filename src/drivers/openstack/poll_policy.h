#pragma once

#include "async/clock.h"

namespace nodepool::drivers::openstack {

// How often the cloud is looked at, and how long is waited for it.
struct PollPolicy {
  // Between two looks at a list, however many wait for something in it. At the default rate of a
  // call a second this leaves some to whoever makes or deletes something.
  async::Duration poll = std::chrono::milliseconds(1500);
  // … and at least, where it is known when servers come up.
  async::Duration expected_poll = std::chrono::milliseconds(100);
  async::Duration image_poll = std::chrono::seconds(2);
  // A floating IP that does not lead to its server until then will not.
  async::Duration floating_ip_limit = std::chrono::seconds(60);
  // After that a server that was made is in the list, or gone.
  async::Duration consistency_delay = std::chrono::seconds(30);
  // What was looked for and not there is looked for again after that.
  async::Duration missing = std::chrono::seconds(60);
};

}  // namespace nodepool::drivers::openstack
