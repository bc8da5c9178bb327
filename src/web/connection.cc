#include "web/connection.h"

#include <sys/socket.h>

#include <tuple>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

namespace nodepool::web {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using async::Task;
using LocalSocket = asio::local::stream_protocol::socket;
using TlsStream = asio::ssl::stream<tcp::socket>;

namespace {

constexpr auto kTransferred = asio::as_tuple(asio::use_awaitable);

// Maximum of received bytes that are not parsed yet. The parser waits for the end of a head, which
// it limits itself, but also for the end of chunk extensions and trailers, which it does not.
constexpr std::size_t kMaximumUnparsed = std::size_t{128} << 10;

bool is_done(const boost::system::error_code& error) {
  if (error == asio::error::operation_aborted) throw async::Cancelled();
  return !error;
}

template <typename Stream>
class ConnectionOver final : public Connection {
 public:
  template <typename... Arguments>
  explicit ConnectionOver(Peer peer, std::shared_ptr<asio::ssl::context> context,
                          Arguments&&... arguments)
      : Connection(std::move(peer)),
        context_(std::move(context)),
        stream_(std::forward<Arguments>(arguments)...) {}

  Task<bool> handshake() override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      const auto [error] = co_await stream_.async_handshake(TlsStream::server, kTransferred);
      co_return is_done(error);
    } else {
      co_return true;
    }
  }

  Task<boost::system::error_code> read(Parser& parser) override {
    const auto [error, size] = co_await http::async_read(stream_, buffer_, parser, kTransferred);
    if (error == asio::error::operation_aborted) throw async::Cancelled();
    // Many clients close TLS connections without close_notify.
    if (error == asio::ssl::error::stream_truncated) co_return asio::error::eof;
    co_return error;
  }

  Task<bool> write(const Message& message) override {
    http::response_serializer<http::span_body<const char>> serializer(message);
    const auto [error, size] = co_await http::async_write(stream_, serializer, kTransferred);
    co_return is_done(error);
  }

  Task<bool> write_more(std::string_view part) override {
    const auto [error, size] =
        co_await asio::async_write(stream_, asio::buffer(part.data(), part.size()), kTransferred);
    co_return is_done(error);
  }

  Task<bool> write_head(Head& head) override {
    http::response_serializer<http::empty_body> serializer(head);
    const auto [error, size] = co_await http::async_write_header(stream_, serializer, kTransferred);
    co_return is_done(error);
  }

  Task<bool> write_chunk(std::shared_ptr<const std::string> part) override {
    const auto chunk = http::make_chunk(asio::buffer(*part));
    const auto [error, size] = co_await asio::async_write(stream_, chunk, kTransferred);
    co_return is_done(error);
  }

  Task<bool> write_last_chunk() override {
    const auto chunk = http::make_chunk_last();
    const auto [error, size] = co_await asio::async_write(stream_, chunk, kTransferred);
    co_return is_done(error);
  }

  void disconnect() override {
    boost::system::error_code ignored;
    std::ignore = stream_.lowest_layer().shutdown(asio::socket_base::shutdown_both, ignored);
  }

 private:
  std::shared_ptr<asio::ssl::context> context_;  // of the stream; null without TLS
  Stream stream_;
  boost::beast::flat_buffer buffer_{kMaximumUnparsed};
};

Peer peer_of(const tcp::socket& socket) {
  boost::system::error_code error;
  const tcp::endpoint remote = socket.remote_endpoint(error);
  if (error) return {};
  asio::ip::address address = remote.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return {.address = address.to_string(), .is_private = address.is_loopback(), .user = {}};
}

Peer peer_of(LocalSocket& socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  Peer peer{.address = {}, .is_private = true, .user = {}};
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    peer.user = credentials.uid;
  }
  return peer;
}

}  // namespace

std::unique_ptr<Connection> plain_connection(tcp::socket socket) {
  Peer peer = peer_of(socket);
  return std::make_unique<ConnectionOver<tcp::socket>>(std::move(peer), nullptr, std::move(socket));
}

std::unique_ptr<Connection> tls_connection(tcp::socket socket,
                                           std::shared_ptr<asio::ssl::context> context) {
  Peer peer = peer_of(socket);
  peer.is_private = true;
  asio::ssl::context& settings = *context;
  return std::make_unique<ConnectionOver<TlsStream>>(std::move(peer), std::move(context),
                                                     std::move(socket), settings);
}

std::unique_ptr<Connection> local_connection(LocalSocket socket) {
  const Peer peer = peer_of(socket);
  return std::make_unique<ConnectionOver<LocalSocket>>(peer, nullptr, std::move(socket));
}

}  // namespace nodepool::web
