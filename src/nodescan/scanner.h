#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "nodescan/error.h"

namespace nodepool::nodescan {

// How much a scanner does at once, and how patient it is.
struct Limits {
  std::size_t concurrent_scans = 100;
  async::Duration connect = std::chrono::seconds(10);   // for one connection to open
  async::Duration exchange = std::chrono::seconds(15);  // for one SSH key exchange
  async::Duration pause = std::chrono::seconds(1);      // after a failed attempt
};

// What a scan went through, for a log line at its end.
struct Progress {
  unsigned attempts = 0;             // connections until the first key exchange worked
  unsigned failed_connections = 0;   // of those for the single key types
  unsigned failed_negotiations = 0;  // of those for the single key types
  std::string last_failure;          // in words; empty if nothing went wrong
};

// Finds out whether new machines have come up, and reads their SSH host keys, without blocking the
// event loop. One per provider.
//
// No more than Limits::concurrent_scans calls are in touch with a host at a time. The others wait
// for their turn in the order they came, and that wait counts against their deadlines. Open
// connections of a call that ends in any way are closed.
//
// A call to a host that is_fake() succeeds at once, without any connection.
class Scanner {
 public:
  enum class Attempts {
    one,             // the first answer counts: is the machine still there?
    until_deadline,  // failures are retried: is the machine there already?
  };

  // `pool` resolves names. The scanner outlives its calls.
  Scanner(const async::Runtime& runtime, async::ThreadPool& pool, const Limits& limits = {});
  ~Scanner();
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  // Returns when a TCP connection to `host` (a name or an address) on `port` could be opened.
  // Throws ScanError, Cancelled.
  async::Task<> connectable(std::string host, std::uint16_t port, async::Clock::TimePoint deadline,
                            Attempts attempts);

  // Waits until an SSH server answers and completes a key exchange, then reads the host's keys:
  // "<key type> <base64>" each, one per key type that the host has, in the order ssh-ed25519,
  // ecdsa-sha2-nistp256, -nistp384, -nistp521, ssh-rsa. A key type for which the host fails twice
  // is left out. `progress`, if given, is kept up to date until the call ends. Throws ScanError,
  // Cancelled.
  async::Task<std::vector<std::string>> host_keys(std::string host, std::uint16_t port,
                                                  async::Clock::TimePoint deadline,
                                                  Progress* progress = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodepool::nodescan
