#include "nodescan/address.h"

#include <netdb.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <expected>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "async/event.h"
#include "nodescan/error.h"

namespace nodepool::nodescan {

namespace asio = boost::asio;

namespace {

// The address, or an error message.
using Resolution = std::expected<Address, std::string>;

// Shared by a lookup and the task that waits for it, which may end first.
struct Lookup {
  std::string host;
  std::atomic<bool> abandoned = false;
  std::atomic<bool> has_thread = false;
  async::Event ended{"name lookup"};
  Resolution result;
};

Address address_of(const asio::ip::address& address) {
  return {address.to_string(), address.is_v6()};
}

Resolution look_up(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failure = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (failure != 0) {
    return std::unexpected(failure == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  asio::ip::tcp::endpoint endpoint;
  endpoint.resize(list->ai_addrlen);
  std::memcpy(endpoint.data(), list->ai_addr, list->ai_addrlen);
  return address_of(endpoint.address());
}

async::Task<> look_up_on_thread(async::ThreadPool& pool, std::shared_ptr<Lookup> lookup) {
  auto call = [lookup] {
    lookup->has_thread = true;
    // If the resolver does not respond, lookups queue up: skip abandoned ones.
    return lookup->abandoned ? Resolution() : look_up(lookup->host);
  };
  lookup->result = co_await pool.run("name lookup", std::move(call));
  lookup->ended.set();
}

}  // namespace

std::optional<Address> parse_address(const std::string& host) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error) return std::nullopt;
  return address_of(address);
}

async::Task<Address> resolve(async::Runtime runtime, async::ThreadPool& pool, std::string host,
                             async::Clock::TimePoint deadline) {
  if (const auto literal = parse_address(host)) co_return *literal;
  if (host.empty()) throw ScanError(ScanError::Kind::unresolved, "The host has no name or address");

  const auto lookup = std::make_shared<Lookup>(host);
  struct AbandonAtExit {
    Lookup& lookup;
    ~AbandonAtExit() { lookup.abandoned = true; }
  };
  const AbandonAtExit abandon{*lookup};
  // Detached, because getaddrinfo cannot be interrupted and may exceed the deadline. The thread
  // pool waits for the call before it is destroyed; after the call, the task uses only `lookup`.
  asio::co_spawn(runtime.executor, look_up_on_thread(pool, lookup), asio::detached);
  const auto now = runtime.clock.now();
  bool in_time = co_await lookup->ended.wait_until(runtime.clock, now + (deadline - now) / 2);
  const bool had_thread = lookup->has_thread;
  if (!in_time) in_time = co_await lookup->ended.wait_until(runtime.clock, deadline);
  if (!in_time && !had_thread) {
    throw ScanError(ScanError::Kind::queued, "Still queued behind other lookups: " + host);
  }
  if (!in_time) throw ScanError(ScanError::Kind::timeout, "Timeout resolving " + host);
  if (!lookup->result) {
    throw ScanError(ScanError::Kind::unresolved,
                    "Could not resolve " + host + ": " + lookup->result.error());
  }
  co_return *lookup->result;
}

}  // namespace nodepool::nodescan
