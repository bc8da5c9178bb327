#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "nodescan/address.h"
#include "nodescan/error.h"

namespace nodepool::nodescan {

// How much a scanner does at once, and how patient it is.
struct ScanLimits {
  std::size_t concurrent_scans = 100;
  async::Duration connect = std::chrono::seconds(10);   // for one connection to open
  async::Duration exchange = std::chrono::seconds(15);  // for one SSH key exchange
  async::Duration pause = std::chrono::seconds(1);      // after a failed attempt
};

// What a scan went through, for a log line at its end.
struct Progress {
  std::optional<async::Clock::TimePoint> connected = {};  // when the first connection opened
  unsigned attempts = 0;             // connections until the first key exchange worked
  unsigned failed_connections = 0;   // of those for the single key types
  unsigned failed_negotiations = 0;  // of those for the single key types
  std::string last_failure;          // in words; empty if nothing went wrong
};

// Finds out whether machines have come up, and reads their SSH host keys, without blocking the
// event loop. One per provider; outlives its calls.
class Scanner {
 public:
  enum class Attempts {
    one,             // the first answer counts: is the machine still there?
    until_deadline,  // failures are retried: is the machine there already?
  };

  virtual ~Scanner() = default;

  // The address of `host` (a name or an address). Throws ScanError (unresolved, timeout),
  // Cancelled.
  virtual async::Task<Address> address(std::string host, async::Clock::TimePoint deadline) = 0;

  // Returns when a TCP connection to `host` on `port` could be opened. Throws ScanError, Cancelled.
  virtual async::Task<> connectable(std::string host, std::uint16_t port,
                                    async::Clock::TimePoint deadline, Attempts attempts) = 0;

  // Waits until an SSH server answers and completes a key exchange, then reads the host's keys:
  // "<key type> <base64>" each, one per key type that the host has, in the order ssh-ed25519,
  // ecdsa-sha2-nistp256, -nistp384, -nistp521, ssh-rsa. A key type for which the host fails twice
  // is left out. `progress`, if given, is kept up to date until the call ends. Throws ScanError,
  // Cancelled.
  virtual async::Task<std::vector<std::string>> host_keys(std::string host, std::uint16_t port,
                                                          async::Clock::TimePoint deadline,
                                                          Progress* progress) = 0;
  async::Task<std::vector<std::string>> host_keys(std::string host, std::uint16_t port,
                                                  async::Clock::TimePoint deadline) {
    return host_keys(std::move(host), port, deadline, nullptr);
  }
};

// The scanner of machines that are there, by way of the network.
//
// No more than ScanLimits::concurrent_scans calls are in touch with a host at a time. The others
// wait for their turn in the order they came, and that wait counts against their deadlines. Open
// connections of a call that ends in any way are closed.
class NetworkScanner final : public Scanner {
 public:
  // `pool` resolves names.
  NetworkScanner(const async::Runtime& runtime, async::ThreadPool& pool,
                 const ScanLimits& limits = {});
  ~NetworkScanner() override;
  NetworkScanner(const NetworkScanner&) = delete;
  NetworkScanner& operator=(const NetworkScanner&) = delete;

  async::Task<Address> address(std::string host, async::Clock::TimePoint deadline) override;
  async::Task<> connectable(std::string host, std::uint16_t port, async::Clock::TimePoint deadline,
                            Attempts attempts) override;
  using Scanner::host_keys;
  async::Task<std::vector<std::string>> host_keys(std::string host, std::uint16_t port,
                                                  async::Clock::TimePoint deadline,
                                                  Progress* progress) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodepool::nodescan
