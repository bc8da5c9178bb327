#pragma once

#include <string>
#include <vector>

#include "nodescan/scanner.h"

namespace nodepool::nodescan {

// A scanner for simulated machines. Uses no network: every host is reachable at once, on the
// loopback interface, and has these keys.
class ImaginaryHosts final : public Scanner {
 public:
  explicit ImaginaryHosts(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  async::Task<Address> address(std::string host, async::Clock::TimePoint deadline) override;
  async::Task<> connectable(std::string host, std::uint16_t port, async::Clock::TimePoint deadline,
                            Attempts attempts) override;
  using Scanner::host_keys;
  async::Task<std::vector<std::string>> host_keys(std::string host, std::uint16_t port,
                                                  async::Clock::TimePoint deadline,
                                                  Progress* progress) override;

 private:
  std::vector<std::string> keys_;
};

}  // namespace nodepool::nodescan
