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

// The address that `host` spells out; nothing if it is a name.
std::optional<Address> parse_address(const std::string& host);

// The first address that the system's resolver knows for `host`. A spelled out address is answered
// at once, a name is looked up on a thread of `pool`; a look-up that is still running at `deadline`
// is left behind there. Throws ScanError (unresolved, timeout), Cancelled.
async::Task<Address> resolve(async::Runtime runtime, async::ThreadPool& pool, std::string host,
                             async::Clock::TimePoint deadline);

}  // namespace nodepool::nodescan
