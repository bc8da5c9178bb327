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

// The address, or why there is none.
using Answer = std::expected<Address, std::string>;

// What a look-up shares with the task that waits for it, which may leave first.
struct Lookup {
  std::string host;
  std::atomic<bool> abandoned = false;
  async::Event answered{"name look-up"};
  Answer answer;
};

Address address_of(const asio::ip::address& address) {
  return {address.to_string(), address.is_v6()};
}

Answer look_up(const std::string& host) {
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

async::Task<> answer_from_thread(async::ThreadPool& pool, std::shared_ptr<Lookup> lookup) {
  auto call = [lookup] {
    // With a resolver that does not answer, look-ups queue up: do not start those that nobody
    // waits for any more.
    return lookup->abandoned ? Answer() : look_up(lookup->host);
  };
  lookup->answer = co_await pool.run("name look-up", std::move(call));
  lookup->answered.set();
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
  if (host.empty()) throw ScanError(ScanError::Kind::unresolved, "The host has no address");

  const auto lookup = std::make_shared<Lookup>(host);
  struct AbandonAtExit {
    Lookup& lookup;
    ~AbandonAtExit() { lookup.abandoned = true; }
  };
  const AbandonAtExit abandon{*lookup};
  // Detached, because getaddrinfo cannot be interrupted and may take longer than the deadline. The
  // thread pool waits for the call before it goes away, and the task touches nothing but `lookup`
  // after it.
  asio::co_spawn(runtime.executor, answer_from_thread(pool, lookup), asio::detached);
  const bool in_time = co_await lookup->answered.wait_until(runtime.clock, deadline);
  if (!in_time) throw ScanError(ScanError::Kind::timeout, "Timeout resolving " + host);
  if (!lookup->answer) {
    throw ScanError(ScanError::Kind::unresolved,
                    "Could not resolve " + host + ": " + lookup->answer.error());
  }
  co_return *lookup->answer;
}

}  // namespace nodepool::nodescan
