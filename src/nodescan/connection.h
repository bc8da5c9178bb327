#pragma once

#include <expected>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "async/clock.h"
#include "async/task.h"
#include "nodescan/address.h"

namespace nodepool::nodescan {

// Why one connection brought nothing. Hosts that are starting up fail all the time, so this is an
// answer and not an exception.
struct Failure {
  enum class Stage {
    connecting,
    negotiating,
    no_common_algorithm,  // the host works, and has no key for the algorithms it was offered
  };
  Stage stage;
  std::string text;
};

template <typename T>
using Attempt = std::expected<T, Failure>;

// Opens a TCP connection, or gives up at `until`. Throws Cancelled.
async::Task<Attempt<boost::asio::ip::tcp::socket>> connect(async::Clock& clock, Address address,
                                                           std::uint16_t port,
                                                           async::Clock::TimePoint until);

// Exchanges keys with the SSH server at the other end of `socket`, offering only the host key
// `algorithms` (names separated by commas), and returns the host's proven key as
// "<key type> <base64>"; or gives up at `until`. The connection is of no use afterwards. Throws
// Cancelled.
async::Task<Attempt<std::string>> read_host_key(async::Clock& clock,
                                                boost::asio::ip::tcp::socket& socket,
                                                std::string algorithms,
                                                async::Clock::TimePoint until);

}  // namespace nodepool::nodescan
