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

// A client's connection, however it is transported. All functions throw Cancelled.
class Connection {
 public:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Answer = boost::beast::http::response<boost::beast::http::span_body<const char>>;
  using Head = boost::beast::http::response<boost::beast::http::empty_body>;

  virtual ~Connection() = default;

  // Agrees on how to encrypt; returns whether that worked, which it does where nothing is.
  virtual async::Task<bool> begin() = 0;

  // Reads the next request; what is wrong with it is the error.
  virtual async::Task<boost::system::error_code> read(Parser& parser) = 0;

  // These return whether the client has it, as far as is known. An answer may begin with a part of
  // its body, which goes on with write_more().
  virtual async::Task<bool> write(const Answer& answer) = 0;
  virtual async::Task<bool> write_more(std::string_view part) = 0;
  virtual async::Task<bool> write_head(Head& head) = 0;
  virtual async::Task<bool> write_chunk(std::shared_ptr<const std::string> part) = 0;
  virtual async::Task<bool> write_last_chunk() = 0;

  // Has the present and every later wait for the client end as if it had gone.
  virtual void disconnect() = 0;

  const Peer& peer() const { return peer_; }

 protected:
  explicit Connection(Peer peer) : peer_(std::move(peer)) {}

 private:
  Peer peer_;
};

std::unique_ptr<Connection> plain_connection(boost::asio::ip::tcp::socket socket);
// `context` is kept for as long as the connection lasts.
std::unique_ptr<Connection> tls_connection(boost::asio::ip::tcp::socket socket,
                                           std::shared_ptr<boost::asio::ssl::context> context);
std::unique_ptr<Connection> local_connection(boost::asio::local::stream_protocol::socket socket);

}  // namespace nodepool::web
