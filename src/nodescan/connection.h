#pragma once

#include <expected>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "async/clock.h"
#include "async/task.h"
#include "nodescan/address.h"

namespace nodepool::nodescan {

// A failed connection. It is a result and not an exception, as connections to hosts that are
// booting fail often.
struct Failure {
  enum class Stage {
    connecting,
    negotiating,
    no_common_algorithm,  // the host works, but has no key for the offered algorithms
  };
  Stage stage;
  std::string text;
};

template <typename T>
using Attempt = std::expected<T, Failure>;

// Opens a TCP connection; times out at `until`. Throws Cancelled.
async::Task<Attempt<boost::asio::ip::tcp::socket>> connect(async::Clock& clock, Address address,
                                                           std::uint16_t port,
                                                           async::Clock::TimePoint until);

// Performs an SSH key exchange on `socket`, offering only the host key `algorithms` (names
// separated by commas). Returns the host's verified key as "<key type> <base64>"; times out at
// `until`. The connection cannot be used afterwards. Throws Cancelled.
async::Task<Attempt<std::string>> read_host_key(async::Clock& clock,
                                                boost::asio::ip::tcp::socket& socket,
                                                std::string algorithms,
                                                async::Clock::TimePoint until);

}  // namespace nodepool::nodescan
