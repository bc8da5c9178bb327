#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/string_body.hpp>

#include "async/task.h"
#include "web/message.h"

namespace nodepool::web {

// A connection of a client over TCP, TLS or a Unix socket. All functions throw Cancelled.
class Connection {
 public:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Message = boost::beast::http::response<boost::beast::http::span_body<const char>>;
  using Head = boost::beast::http::response<boost::beast::http::empty_body>;

  virtual ~Connection() = default;

  // Performs the TLS handshake, if any. Returns false if it failed.
  virtual async::Task<bool> handshake() = 0;

  // Reads the next request. Returns the error of the connection or the parser; buffer_overflow if
  // a part of the request that the parser takes only as a whole is too long.
  virtual async::Task<boost::system::error_code> read(Parser& parser) = 0;

  // These return false if sending failed. A message may contain only the beginning of its body;
  // write_more() sends the rest.
  virtual async::Task<bool> write(const Message& message) = 0;
  virtual async::Task<bool> write_more(std::string_view part) = 0;
  virtual async::Task<bool> write_head(Head& head) = 0;
  virtual async::Task<bool> write_chunk(std::shared_ptr<const std::string> part) = 0;
  virtual async::Task<bool> write_last_chunk() = 0;

  // Ends the current and all later operations as if the client had closed the connection.
  virtual void disconnect() = 0;

  const Peer& peer() const { return peer_; }

 protected:
  explicit Connection(Peer peer) : peer_(std::move(peer)) {}

 private:
  Peer peer_;
};

std::unique_ptr<Connection> plain_connection(boost::asio::ip::tcp::socket socket);
// The connection keeps `context`.
std::unique_ptr<Connection> tls_connection(boost::asio::ip::tcp::socket socket,
                                           std::shared_ptr<boost::asio::ssl::context> context);
std::unique_ptr<Connection> local_connection(boost::asio::local::stream_protocol::socket socket);

}  // namespace nodepool::web
