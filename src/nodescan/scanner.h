#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
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

// Concurrency and timeouts of a scanner.
struct ScanLimits {
  enum class Deadline {
    all_keys,   // of host_keys(): for the whole scan
    first_key,  // until the SSH server works; each connection after that has its own timeouts
  };
  std::size_t concurrent_scans = 100;
  async::Duration connect = std::chrono::seconds(10);   // for one connection to open
  async::Duration exchange = std::chrono::seconds(15);  // for one SSH key exchange
  async::Duration pause = std::chrono::seconds(1);      // after a failed attempt
  Deadline deadline = Deadline::all_keys;
};

// Statistics of a scan, and what it could not read.
struct Progress {
  std::optional<async::Clock::TimePoint> connected = {};  // when the first connection opened
  unsigned attempts = 0;                      // connections until the first key exchange worked
  unsigned failed_connections = 0;            // for the other key types
  unsigned failed_negotiations = 0;           // for the other key types
  std::string last_failure;                   // error message; empty: none
  std::map<std::string, std::string> unread;  // the other key types that failed, and why
};

// Checks whether machines are reachable, and reads their SSH host keys, without blocking the event
// loop. One per provider; outlives its calls.
class Scanner {
 public:
  enum class Attempts {
    one,             // no retry: is the machine still reachable?
    until_deadline,  // retries: is the machine reachable yet?
  };

  virtual ~Scanner() = default;

  // Resolves `host` (a name or an address). Throws ScanError (unresolved, timeout, queued),
  // Cancelled.
  virtual async::Task<Address> address(std::string host, async::Clock::TimePoint deadline) = 0;

  // Returns when a TCP connection to `host` on `port` was opened. Throws ScanError, Cancelled.
  virtual async::Task<> connectable(std::string host, std::uint16_t port,
                                    async::Clock::TimePoint deadline, Attempts attempts) = 0;

  // Waits until an SSH server completes a key exchange, then reads the host's keys. Returns one
  // "<key type> <base64>" for each key type of the host, in the order ssh-ed25519,
  // ecdsa-sha2-nistp256, -nistp384, -nistp521, ssh-rsa. Omits a key type if reading it fails twice,
  // with a pause in between if the deadline permits: Progress::unread has it. Updates `progress`,
  // unless nullptr, during the call. Throws ScanError, Cancelled.
  virtual async::Task<std::vector<std::string>> host_keys(std::string host, std::uint16_t port,
                                                          async::Clock::TimePoint deadline,
                                                          Progress* progress) = 0;
  async::Task<std::vector<std::string>> host_keys(std::string host, std::uint16_t port,
                                                  async::Clock::TimePoint deadline) {
    return host_keys(std::move(host), port, deadline, nullptr);
  }
};

// Scans over the network. At most ScanLimits::concurrent_scans calls connect to hosts at a time;
// the others are queued, and the time in the queue counts towards their deadlines. With
// Deadline::first_key, a scan is queued a second time after the first key. Connections are closed
// when their call ends or is cancelled.
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
