#include "nodescan/connection.h"

#include <fcntl.h>
#include <libssh/libssh.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/deadline.h"
#include "async/parking.h"

namespace nodepool::nodescan {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// Any method is secure enough, as the connection carries no secret. Cheap ones come first, because
// they run on the event loop. Some old network devices support only the last two. Groups of 8192
// bits, which a server may also choose with group exchange, would block the loop for 0.1 s to 0.3 s
// in each attempt. By RFC 4253 and RFC 9142, all servers have fixed groups.
constexpr char kKeyExchanges[] =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521,diffie-hellman-group14-sha256,diffie-hellman-group16-sha512,"
    "diffie-hellman-group14-sha1,diffie-hellman-group1-sha1";

// libssh's defaults, and what old network devices support.
constexpr char kCiphers[] =
    "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr,"
    "aes192-ctr,aes128-ctr,aes256-cbc,aes192-cbc,aes128-cbc,3des-cbc";
constexpr char kMacs[] =
    "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512,"
    "hmac-sha1";

// As in OpenSSH's clients; libssh's default is 2048.
constexpr int kShortestRsaKey = 1024;

struct EndSession {
  // Without ssh_disconnect(): it does not close a descriptor that was passed to it, and cannot send
  // its message on a non-blocking connection.
  void operator()(ssh_session session) const { ssh_free(session); }
};
using Session = std::unique_ptr<ssh_session_struct, EndSession>;

struct FreeKey {
  void operator()(ssh_key key) const { ssh_key_free(key); }
};
using Key = std::unique_ptr<ssh_key_struct, FreeKey>;

struct FreeString {
  void operator()(char* text) const { ssh_string_free_char(text); }
};
using String = std::unique_ptr<char, FreeString>;

Failure failed_to_connect(const boost::system::error_code& error) {
  return {Failure::Stage::connecting, error.message()};
}

// libssh's messages quote the host: limits their length and removes control characters.
std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  std::string result(text.substr(0, kLongest));
  std::ranges::replace_if(result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

Failure failed_to_negotiate(ssh_session session) {
  const std::string_view error = ssh_get_error(session);
  // libssh has no error code for this.
  const bool no_match = error.contains("no match for method server host key algo");
  return {no_match ? Failure::Stage::no_common_algorithm : Failure::Stage::negotiating,
          error.empty() ? "The SSH key exchange failed" : printable(error)};
}

void set_option(ssh_session session, ssh_options_e option, const void* value) {
  if (ssh_options_set(session, option, value) != SSH_OK) {
    throw std::runtime_error(std::string("libssh rejected an option: ") + ssh_get_error(session));
  }
}

// A session that uses no configuration, known hosts, keys or agent of local users.
Session new_session() {
  Session session(ssh_new());
  if (!session) throw std::bad_alloc();
  const bool process_config = false;
  set_option(session.get(), SSH_OPTIONS_PROCESS_CONFIG, &process_config);
  set_option(session.get(), SSH_OPTIONS_USER, "nodepool");
  set_option(session.get(), SSH_OPTIONS_SSH_DIR, "/dev/null");
  set_option(session.get(), SSH_OPTIONS_KNOWNHOSTS, "/dev/null");
  set_option(session.get(), SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
  set_option(session.get(), SSH_OPTIONS_KEY_EXCHANGE, kKeyExchanges);
  // One direction each: client to server, server to client.
  set_option(session.get(), SSH_OPTIONS_CIPHERS_C_S, kCiphers);
  set_option(session.get(), SSH_OPTIONS_CIPHERS_S_C, kCiphers);
  set_option(session.get(), SSH_OPTIONS_HMAC_C_S, kMacs);
  set_option(session.get(), SSH_OPTIONS_HMAC_S_C, kMacs);
  set_option(session.get(), SSH_OPTIONS_RSA_MIN_SIZE, &kShortestRsaKey);
  ssh_set_blocking(session.get(), 0);
  return session;
}

// Gives the session a duplicate of the socket's descriptor: libssh closes its descriptor, and Asio
// needs its own to stay open.
boost::system::error_code share_socket(ssh_session session, tcp::socket& socket) {
  const int descriptor = ::fcntl(socket.native_handle(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return {errno, boost::system::system_category()};
  set_option(session, SSH_OPTIONS_FD, &descriptor);
  return {};
}

std::string host_key_of(ssh_session session) {
  ssh_key raw_key = nullptr;
  if (ssh_get_server_publickey(session, &raw_key) != SSH_OK) throw std::bad_alloc();
  const Key key(raw_key);
  char* raw_text = nullptr;
  if (ssh_pki_export_pubkey_base64(key.get(), &raw_text) != SSH_OK) throw std::bad_alloc();
  const String base64(raw_text);
  return std::string(ssh_key_type_to_char(ssh_key_type(key.get()))) + " " + base64.get();
}

async::Task<boost::system::error_code> open_socket(tcp::socket& socket, tcp::endpoint endpoint) {
  co_await async::throw_if_cancelled();
  const auto [error] = co_await socket.async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
  co_await async::throw_if_cancelled();
  co_return error;
}

async::Task<Attempt<std::string>> negotiate(tcp::socket& socket, std::string algorithms) {
  const Session session = new_session();
  if (ssh_options_set(session.get(), SSH_OPTIONS_HOSTKEYS, algorithms.c_str()) != SSH_OK) {
    // Disabled on this host, such as ed25519 in FIPS mode.
    co_return std::unexpected(
        Failure{Failure::Stage::no_common_algorithm, "libssh does not support " + algorithms});
  }
  if (const auto error = share_socket(session.get(), socket)) {
    co_return std::unexpected(failed_to_connect(error));
  }
  while (true) {
    const int result = ssh_connect(session.get());
    if (result == SSH_OK) co_return host_key_of(session.get());
    if (result != SSH_AGAIN) co_return std::unexpected(failed_to_negotiate(session.get()));
    // libssh sets the connection to blocking.
    socket.native_non_blocking(true);
    const bool writing = (ssh_get_poll_flags(session.get()) & SSH_WRITE_PENDING) != 0;
    const auto [error] =
        co_await socket.async_wait(writing ? tcp::socket::wait_write : tcp::socket::wait_read,
                                   asio::as_tuple(asio::use_awaitable));
    co_await async::throw_if_cancelled();
    if (error) co_return std::unexpected(failed_to_connect(error));
  }
}

}  // namespace

async::Task<Attempt<tcp::socket>> connect(async::Clock& clock, Address address, std::uint16_t port,
                                          async::Clock::TimePoint until) {
  tcp::socket socket(co_await asio::this_coro::executor);
  const tcp::endpoint endpoint(asio::ip::make_address(address.text), port);
  auto opening = async::with_deadline(clock, until, open_socket(socket, endpoint),
                                      "connecting to " + address.text);
  try {
    const auto error = co_await std::move(opening);
    if (error) co_return std::unexpected(failed_to_connect(error));
    co_return socket;
  } catch (const async::DeadlineExceeded&) {
    co_return std::unexpected(Failure{Failure::Stage::connecting, "No response"});
  }
}

async::Task<Attempt<std::string>> read_host_key(async::Clock& clock, tcp::socket& socket,
                                                std::string algorithms,
                                                async::Clock::TimePoint until) {
  auto negotiating = async::with_deadline(clock, until, negotiate(socket, std::move(algorithms)),
                                          "exchanging keys");
  try {
    co_return co_await std::move(negotiating);
  } catch (const async::DeadlineExceeded&) {
    co_return std::unexpected(
        Failure{Failure::Stage::negotiating, "Connected, but the SSH key exchange timed out"});
  }
}

}  // namespace nodepool::nodescan
