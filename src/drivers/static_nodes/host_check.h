#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/slots.h"
#include "drivers/static_nodes/static_config.h"
#include "nodescan/address.h"
#include "nodescan/scanner.h"

namespace nodepool::drivers::static_nodes {

// What a check of a host has found.
struct HostFacts {
  std::vector<std::string> host_keys;        // "<type> <base64>"
  std::optional<nodescan::Address> address;  // nothing for a fake host
};

// Contacts hosts, a limited number at a time.
class HostChecker {
 public:
  HostChecker(const async::Runtime& runtime, async::ThreadPool& threads);

  // Sees that the host is in working order: reachable within its timeout and, for SSH, with the
  // host keys that the configuration demands. Throws nodescan::ScanError, or std::runtime_error
  // ("host key mismatches …").
  async::Task<HostFacts> check(Host host);

  // Whether the host still answers on its port.
  async::Task<bool> answers(Host host);

 private:
  async::Clock::TimePoint deadline(const Host& host) const;

  async::Runtime runtime_;
  async::ThreadPool& threads_;
  async::Slots slots_;
  nodescan::Scanner scanner_;
};

}  // namespace nodepool::drivers::static_nodes
