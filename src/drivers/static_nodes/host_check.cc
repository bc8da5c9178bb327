#include "drivers/static_nodes/host_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stdexcept>

namespace nodepool::drivers::static_nodes {

namespace {

// Concurrent checks, and connections to hosts that are about to be assigned. The time in the queue
// must not count towards a host's timeout, so they queue here; the scanner has the same limits.
constexpr std::size_t kConcurrentChecks = 100;
constexpr std::size_t kConcurrentConnections = 50;

// The host's keys of the same type as `key`; if there is none, all.
std::vector<std::string> offered_instead_of(const std::string& key,
                                            const std::vector<std::string>& found) {
  const std::string type = key.substr(0, key.find(' ') + 1);
  std::vector<std::string> offered;
  std::ranges::copy_if(found, std::back_inserter(offered), [&type](const std::string& other) {
    return !type.empty() && other.starts_with(type);
  });
  return offered.empty() ? found : offered;
}

// A busy SSH server drops connections: a key of a type that could not be read may be the right one.
void require_known_keys(const Host& host, const std::vector<std::string>& found,
                        const nodescan::Progress& progress) {
  std::string doubt;
  for (const std::string& key : host.host_keys) {
    if (std::ranges::find(found, key) != found.end()) continue;
    const std::string type = key.substr(0, key.find(' '));
    const auto unread = progress.unread.find(type);
    if (unread == progress.unread.end()) {
      throw std::runtime_error(fmt::format(
          "host key mismatches: the host does not have the configured key '{}', it offers {}", key,
          fmt::join(offered_instead_of(key, found), ", ")));
    }
    doubt = fmt::format("Could not read the {} key of {}: {}", type, host.name, unread->second);
  }
  if (doubt.empty()) return;
  throw nodescan::ScanError(nodescan::ScanError::Kind::incomplete, doubt);
}

}  // namespace

std::unique_ptr<nodescan::Scanner> scan_network(const driver::ProviderContext& context) {
  nodescan::ScanLimits limits;
  limits.concurrent_scans = kConcurrentChecks + kConcurrentConnections;
  limits.deadline = nodescan::ScanLimits::Deadline::first_key;
  return std::make_unique<nodescan::NetworkScanner>(context.runtime, context.threads, limits);
}

HostChecker::HostChecker(const async::Runtime& runtime, std::unique_ptr<nodescan::Scanner> scanner)
    : runtime_(runtime),
      checks_(kConcurrentChecks),
      connections_(kConcurrentConnections),
      scanner_(std::move(scanner)) {}

async::Clock::TimePoint HostChecker::deadline(const Host& host) const {
  return runtime_.clock.now() + std::chrono::seconds(host.timeout);
}

async::Task<HostFacts> HostChecker::check(Host host) {
  const auto turn = co_await checks_.take();
  const auto port = static_cast<std::uint16_t>(host.connection_port);
  HostFacts facts;
  facts.address = co_await scanner_->address(host.name, deadline(host));
  const async::Clock::TimePoint until = deadline(host);  // the lookup may have been queued
  if (!host.has_ssh()) {
    co_await scanner_->connectable(facts.address->text, port, until,
                                   nodescan::Scanner::Attempts::until_deadline);
  } else if (host.host_key_checking) {
    nodescan::Progress progress;
    facts.host_keys = co_await scanner_->host_keys(facts.address->text, port, until, &progress);
    require_known_keys(host, facts.host_keys, progress);
  } else {
    facts.host_keys = host.host_keys;
  }
  co_return facts;
}

async::Task<std::string> HostChecker::connect(Host host) {
  const auto turn = co_await connections_.take();
  try {
    const nodescan::Address address = co_await scanner_->address(host.name, deadline(host));
    co_await scanner_->connectable(address.text, static_cast<std::uint16_t>(host.connection_port),
                                   deadline(host), nodescan::Scanner::Attempts::one);
  } catch (const nodescan::ScanError& error) {
    if (!error.is_inconclusive()) co_return error.what();
  }
  co_return std::string();
}

}  // namespace nodepool::drivers::static_nodes
