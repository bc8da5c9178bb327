#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "async/runtime.h"
#include "async/thread_pool.h"

namespace nodepool::nodescan {

// An IP address.
struct Address {
  std::string text;  // "192.0.2.1", "2001:db8::1", "fe80::1%eth0"
  bool is_ipv6 = false;

  bool operator==(const Address&) const = default;
};

// Parses an address. Returns nothing if `host` is a name.
std::optional<Address> parse_address(const std::string& host);

// Resolves `host` to the first address that the system's resolver returns. An address is returned
// at once; a name is resolved on a thread of `pool`. A lookup that is still running at `deadline`
// is abandoned there: a timeout if it had a thread for half of its time or more, else `queued`.
// Throws ScanError (unresolved, timeout, queued), Cancelled.
async::Task<Address> resolve(async::Runtime runtime, async::ThreadPool& pool, std::string host,
                             async::Clock::TimePoint deadline);

}  // namespace nodepool::nodescan
