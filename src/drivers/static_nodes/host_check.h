#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/slots.h"
#include "driver/driver.h"
#include "drivers/static_nodes/static_config.h"
#include "nodescan/address.h"
#include "nodescan/scanner.h"

namespace nodepool::drivers::static_nodes {

// Creates the scanner of a provider.
using MakeScanner =
    std::function<std::unique_ptr<nodescan::Scanner>(const driver::ProviderContext&)>;

// Creates a scanner that uses the network.
std::unique_ptr<nodescan::Scanner> scan_network(const driver::ProviderContext& context);

// The results of a host check.
struct HostFacts {
  std::vector<std::string> host_keys;        // "<type> <base64>"
  std::optional<nodescan::Address> address;  // nothing: not resolved
};

// Checks the health of hosts, a limited number at a time. check() and connect() do not wait for
// each other: checks of dead hosts would delay the assignment of healthy ones.
class HostChecker {
 public:
  HostChecker(const async::Runtime& runtime, std::unique_ptr<nodescan::Scanner> scanner);

  // Checks that the host's name is resolved within its timeout, that it is reachable within its
  // timeout after that and, for SSH, has the configured host keys. Reading its further keys may
  // take longer. Throws nodescan::ScanError if not, or if that is unknown (is_inconclusive()), and
  // std::runtime_error ("host key mismatches …").
  async::Task<HostFacts> check(Host host);

  // Tries once to connect to the host's port. Returns the failure; empty if the host accepts
  // connections, or that is unknown.
  async::Task<std::string> connect(Host host);

 private:
  async::Clock::TimePoint deadline(const Host& host) const;

  async::Runtime runtime_;
  async::Slots checks_;
  async::Slots connections_;
  std::unique_ptr<nodescan::Scanner> scanner_;
};

}  // namespace nodepool::drivers::static_nodes
