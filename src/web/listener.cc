#include "web/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace nodepool::web {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using async::Task;

namespace {

// Mozilla's recommendation "intermediate", version 5.7, without the ciphers that need
// Diffie-Hellman parameters. For TLS 1.3 the defaults are used.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

// Size of the kernel's send buffer. By default it grows to some megabytes for each connection.
constexpr int kSendBuffer = 128 << 10;  // bytes

constexpr auto kAccepted = asio::as_tuple(asio::use_awaitable);

void close_on_exec(int descriptor) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

template <typename Acceptor, typename Endpoint>
boost::system::error_code listen_at(Acceptor& acceptor, const Endpoint& endpoint) {
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) close_on_exec(acceptor.native_handle());
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  boost::system::error_code ignored;
  if (error) std::ignore = acceptor.close(ignored);
  return error;
}

// Without the brackets of an IPv6 address. An empty one is the loopback address, as in the Python
// Nodepool; resolved, it would be all interfaces.
std::string plain_host(const std::string& host) {
  if (host.empty()) return "127.0.0.1";
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  return is_bracketed ? host.substr(1, host.size() - 2) : host;
}

// The addresses of a name, IPv4 first, as the Python Nodepool listens.
std::vector<tcp::endpoint> by_preference(const tcp::resolver::results_type& found) {
  std::vector<tcp::endpoint> endpoints;
  for (const bool is_v4 : {true, false}) {
    for (const auto& each : found) {
      if (each.endpoint().address().is_v4() == is_v4) endpoints.push_back(each.endpoint());
    }
  }
  return endpoints;
}

// Whether this host does not have the address. It may have another one of the name.
bool is_foreign(const boost::system::error_code& error) {
  return error == boost::system::errc::address_not_available ||
         error == boost::system::errc::address_family_not_supported;
}

// Whether a process listens at the socket.
bool is_served(const std::string& path) {
  asio::io_context context;
  stream_protocol::socket socket(context);
  boost::system::error_code error;
  std::ignore = socket.connect(stream_protocol::endpoint(path), error);
  return !error;
}

}  // namespace

Listener::Listener(const async::Executor& executor, ListenAddress listen_address)
    : listen_address_(std::move(listen_address)), acceptor_(executor), local_(executor) {
  listen_address_.host = plain_host(listen_address_.host);
}

Listener::~Listener() {
  if (local_.is_open()) ::unlink(listen_address_.path.c_str());
}

bool Listener::is_open() const {
  return acceptor_.is_open() || local_.is_open();
}

std::uint16_t Listener::port() const {
  return acceptor_.is_open() ? acceptor_.local_endpoint().port() : std::uint16_t{0};
}

bool Listener::is_on_loopback() const {
  return acceptor_.is_open() && acceptor_.local_endpoint().address().is_loopback();
}

std::string Listener::open_local() {
  constexpr std::size_t kLongestPath = 107;  // unix(7), sun_path
  if (listen_address_.path.size() > kLongestPath)
    return fmt::format("socket path too long (at most {} bytes)", kLongestPath);
  struct stat status{};
  const bool is_socket =
      ::lstat(listen_address_.path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
  if (is_socket) {
    if (is_served(listen_address_.path)) return "another process listens at this socket";
    ::unlink(listen_address_.path.c_str());
  }
  // No client can connect before the mode is set.
  const mode_t before = ::umask(0777);
  const boost::system::error_code error =
      listen_at(local_, stream_protocol::endpoint(listen_address_.path));
  ::umask(before);
  if (error) return error.message();
  if (::chmod(listen_address_.path.c_str(), listen_address_.mode) == 0) return {};
  return std::error_code(errno, std::generic_category()).message();
}

Task<std::string> Listener::open() {
  if (listen_address_.kind == ListenAddress::Kind::local) co_return open_local();
  if (listen_address_.kind == ListenAddress::Kind::tls) {
    std::string problem = read_certificate();
    if (!problem.empty()) co_return problem;
  }
  tcp::resolver resolver(acceptor_.get_executor());
  const auto [error, found] =
      co_await resolver.async_resolve(listen_address_.host, std::to_string(listen_address_.port),
                                      tcp::resolver::passive, kAccepted);
  if (error == asio::error::operation_aborted) throw async::Cancelled();
  if (error) co_return error.message();
  boost::system::error_code refused;
  for (const tcp::endpoint& endpoint : by_preference(found)) {
    refused = listen_at(acceptor_, endpoint);
    if (!is_foreign(refused)) break;
  }
  co_return refused ? refused.message() : std::string();
}

std::string Listener::read_certificate() {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  context->set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1 |
                       asio::ssl::context::no_sslv3);
  ::SSL_CTX_set_cipher_list(context->native_handle(), kCiphers);
  boost::system::error_code error;
  std::ignore = context->use_certificate_chain_file(listen_address_.certificate, error);
  if (error) return listen_address_.certificate + ": " + error.message();
  std::ignore = context->use_private_key_file(listen_address_.key, asio::ssl::context::pem, error);
  if (error) return listen_address_.key + ": " + error.message();
  tls_ = std::move(context);
  return {};
}

Task<std::unique_ptr<Connection>> Listener::accept(std::string& problem) {
  problem.clear();
  boost::system::error_code error;
  std::unique_ptr<Connection> connection;
  if (listen_address_.kind == ListenAddress::Kind::local) {
    auto [failure, socket] = co_await local_.async_accept(kAccepted);
    error = failure;
    if (!error) {
      close_on_exec(socket.native_handle());
      connection = local_connection(std::move(socket));
    }
  } else {
    auto [failure, socket] = co_await acceptor_.async_accept(kAccepted);
    error = failure;
    if (!error) {
      close_on_exec(socket.native_handle());
      boost::system::error_code ignored;
      std::ignore = socket.set_option(tcp::no_delay(true), ignored);
      std::ignore = socket.set_option(asio::socket_base::send_buffer_size(kSendBuffer), ignored);
      connection = listen_address_.kind == ListenAddress::Kind::tls
                       ? tls_connection(std::move(socket), tls_)
                       : plain_connection(std::move(socket));
    }
  }
  if (error == asio::error::operation_aborted) throw async::Cancelled();
  if (error) problem = error.message();
  co_return connection;
}

}  // namespace nodepool::web
