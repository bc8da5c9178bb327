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

// A door that connections come in by.
class Listener {
 public:
  Listener(const async::Executor& executor, ListenAddress listen_address);
  // Takes the socket's file away.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const ListenAddress& listen_address() const { return door_; }

  // Opens the door. Returns why that did not work; empty if it did.
  async::Task<std::string> open();
  bool is_open() const;
  std::uint16_t port() const;  // TCP; 0 if it is closed

  // Whether only this machine can connect, by TCP.
  bool is_on_loopback() const;

  // Reads the certificate and its key, for connections from now on. Returns what is wrong with
  // them, which leaves the present ones in force; empty if nothing is.
  std::string read_certificate();

  // The next connection; null, with the reason in `problem`, if there are no descriptors left or
  // the client went. Throws Cancelled.
  async::Task<std::unique_ptr<Connection>> accept(std::string& problem);

 private:
  std::string open_local();

  ListenAddress door_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::local::stream_protocol::acceptor local_;
  std::shared_ptr<boost::asio::ssl::context> tls_;  // null until a certificate has been read
};

}  // namespace nodepool::web
