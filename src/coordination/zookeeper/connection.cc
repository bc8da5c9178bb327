#include "coordination/zookeeper/connection.h"

#include <fcntl.h>

#include <tuple>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "async/parking.h"
#include "coordination/zookeeper/server_list.h"
#include "coordination/zookeeper/tls.h"

namespace nodepool::coordination::zookeeper {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kOutcome = asio::as_tuple(asio::use_awaitable);

std::string without_brackets(const std::string& host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

void require(const boost::system::error_code& error, const std::string& what) {
  if (error == asio::error::operation_aborted) throw async::Cancelled();
  if (error) throw ConnectionError(what + ": " + error.message());
}

// The common part of plain and TLS connections.
template <typename Stream>
class StreamConnection final : public Connection {
 public:
  StreamConnection(Stream stream, std::string name)
      : stream_(std::move(stream)), name_(std::move(name)) {}

  Task<std::size_t> read_some(std::span<char> space) override {
    const auto [error, size] =
        co_await stream_.async_read_some(asio::buffer(space.data(), space.size()), kOutcome);
    require(error, name_);
    co_return size;
  }

  Task<> write(std::vector<std::string_view> pieces) override {
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(pieces.size());
    for (const std::string_view piece : pieces) buffers.emplace_back(piece.data(), piece.size());
    const auto [error, size] = co_await asio::async_write(stream_, buffers, kOutcome);
    require(error, name_);
  }

  void close() override {
    boost::system::error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  Stream stream_;
  std::string name_;
};

Task<tcp::socket> connect(const ResolvedServer& resolved, const std::string& name) {
  const tcp::endpoint endpoint(asio::ip::make_address(resolved.ip), resolved.server.port);
  tcp::socket socket(co_await asio::this_coro::executor);
  const auto [error] = co_await socket.async_connect(endpoint, kOutcome);
  require(error, name);
  // Best effort: requests are small and latency matters.
  boost::system::error_code ignored;
  std::ignore = socket.set_option(tcp::no_delay(true), ignored);
  // Programs that `nodepool run` starts must not inherit the session.
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  co_return socket;
}

}  // namespace

Task<std::vector<ResolvedServer>> look_up(Server server) {
  tcp::resolver resolver(co_await asio::this_coro::executor);
  const std::string host = without_brackets(server.host);
  const std::string port = std::to_string(server.port);
  const auto [error, found] = co_await resolver.async_resolve(host, port, kOutcome);
  co_await async::throw_if_cancelled();
  require(error, to_string(server));
  std::vector<ResolvedServer> resolved;
  for (const auto& entry : found) {
    resolved.push_back({server, entry.endpoint().address().to_string()});
  }
  co_return resolved;
}

Task<std::unique_ptr<Connection>> Connection::open(ResolvedServer resolved, TlsClient* tls) {
  std::string name = to_string(resolved.server);
  tcp::socket socket = co_await connect(resolved, name);
  if (tls == nullptr) {
    co_return std::make_unique<StreamConnection<tcp::socket>>(std::move(socket), std::move(name));
  }
  const std::string host = without_brackets(resolved.server.host);
  asio::ssl::stream<tcp::socket> stream(std::move(socket), tls->context);
  send_host_name(*stream.native_handle(), host);
  const auto [error] = co_await stream.async_handshake(asio::ssl::stream_base::client, kOutcome);
  require(error, name + ": TLS");
  std::string mismatch = zookeeper::name_mismatch(*stream.native_handle(), host);
  if (!mismatch.empty()) mismatch = name + ": " + mismatch;
  if (!mismatch.empty() && tls->verifies_hostname) throw ConnectionError(mismatch);
  std::unique_ptr<Connection> connection =
      std::make_unique<StreamConnection<asio::ssl::stream<tcp::socket>>>(std::move(stream),
                                                                         std::move(name));
  connection->name_mismatch_ = std::move(mismatch);
  co_return connection;
}

}  // namespace nodepool::coordination::zookeeper
