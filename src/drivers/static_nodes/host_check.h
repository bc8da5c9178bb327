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

// Makes the scanner that hosts are contacted by.
using MakeScanner =
    std::function<std::unique_ptr<nodescan::Scanner>(const driver::ProviderContext&)>;

// By way of the network.
std::unique_ptr<nodescan::Scanner> scan_network(const driver::ProviderContext& context);

// What a check of a host has found.
struct HostFacts {
  std::vector<std::string> host_keys;        // "<type> <base64>"
  std::optional<nodescan::Address> address;  // nothing: it was not looked up
};

// Contacts hosts, a limited number at a time.
class HostChecker {
 public:
  HostChecker(const async::Runtime& runtime, std::unique_ptr<nodescan::Scanner> scanner);

  // Sees that the host is in working order: reachable within its timeout and, for SSH, with the
  // host keys that the configuration demands. Throws nodescan::ScanError, or std::runtime_error
  // ("host key mismatches …").
  async::Task<HostFacts> check(Host host);

  // Whether the host still answers on its port.
  async::Task<bool> answers(Host host);

 private:
  async::Clock::TimePoint deadline(const Host& host) const;

  async::Runtime runtime_;
  async::Slots slots_;
  std::unique_ptr<nodescan::Scanner> scanner_;
};

}  // namespace nodepool::drivers::static_nodes
