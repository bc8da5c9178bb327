#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

#include "async/task.h"
#include "web/connection.h"
#include "web/listen_address.h"

namespace nodepool::web {

// Accepts connections at an address.
class Listener {
 public:
  Listener(const async::Executor& executor, ListenAddress listen_address);
  // Removes the file of a Unix socket.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const ListenAddress& listen_address() const { return listen_address_; }

  // Starts to listen. Returns the error; empty on success.
  async::Task<std::string> open();
  bool is_open() const;
  std::uint16_t port() const;  // TCP; 0 if not open

  // Whether it listens on the loopback interface (TCP).
  bool is_on_loopback() const;

  // Loads the certificate and its key for new connections. Returns the error; empty on success.
  // After an error the previous ones stay in use.
  std::string read_certificate();

  // Returns the next connection; null, with the reason in `problem`, if no descriptors are left or
  // the client has disconnected. Throws Cancelled.
  async::Task<std::unique_ptr<Connection>> accept(std::string& problem);

 private:
  std::string open_local();

  ListenAddress listen_address_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::local::stream_protocol::acceptor local_;
  std::shared_ptr<boost::asio::ssl::context> tls_;  // null until a certificate is loaded
};

}  // namespace nodepool::web
