// What an SSH server sends to who reads its host keys, up to the end of the connection. The first
// byte says which algorithm it is asked for.

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "async/event_loop.h"
#include "nodescan/connection.h"
#include "tests/fuzz/target.h"
#include "tests/support/patience.h"

namespace nodepool::fuzz {
namespace {

constexpr std::array<const char*, 3> kAlgorithms = {"ssh-ed25519", "ecdsa-sha2-nistp256",
                                                    "rsa-sha2-512,ssh-rsa"};
constexpr std::size_t kMost = 100'000;  // bytes: the socket takes more without anybody reading

}  // namespace

void read(std::string_view input) {
  if (input.empty()) return;
  async::EventLoop loop;
  async::SystemClock clock;
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
          "sockets can be made");
  boost::asio::ip::tcp::socket socket(loop.executor());
  socket.assign(boost::asio::ip::tcp::v4(), ends[0]);
  const std::string_view sent = input.substr(1, kMost);
  require(
      ::send(ends[1], sent.data(), sent.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(sent.size()),
      "the socket takes all");
  ::shutdown(ends[1], SHUT_WR);
  const auto algorithm = static_cast<unsigned char>(input.front()) % kAlgorithms.size();
  const auto result = loop.run(nodescan::read_host_key(clock, socket, kAlgorithms[algorithm],
                                                       clock.now() + test_support::kPatience));
  require(!result.has_value(), "without a signature there is no key");
  ::close(ends[1]);
}

}  // namespace nodepool::fuzz
