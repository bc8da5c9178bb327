#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/descriptor.h"

namespace nodepool::test_support {

// The addresses for tests, which stay on the machine.
inline constexpr char kLoopback[] = "127.0.0.1";
inline constexpr char kLoopback6[] = "::1";

// Whether the machine has IPv6 on its loopback interface.
bool has_ipv6_loopback();

// Reserves a TCP port: neither the kernel nor another ReservedPort assigns it meanwhile. A server
// with SO_REUSEADDR can listen on it; until then connections are refused.
class ReservedPort {
 public:
  // Throws std::system_error.
  explicit ReservedPort(const std::string& address = kLoopback);

  std::uint16_t number() const { return number_; }

 private:
  Descriptor socket_;
  std::uint16_t number_;
};

// A loopback port that was free a moment ago. Use a ReservedPort instead if possible. Throws
// std::system_error.
std::uint16_t free_port();

// A misbehaving server, on a thread of its own.
class TcpListener {
 public:
  enum class Behaviour {
    silent,         // accepts connections and sends nothing
    closing,        // closes every connection at once
    garbage,        // sends random bytes forever
    endless_lines,  // sends lines forever, as before an SSH banner
    unanswering,    // does not accept: connection attempts hang
  };

  // Throws std::system_error.
  explicit TcpListener(Behaviour behaviour, const std::string& address = kLoopback);
  ~TcpListener();
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  std::uint16_t port() const { return port_; }

  // The number of accepted connections, and the most that were open at a time.
  std::size_t accepted() const { return accepted_; }
  std::size_t most_open() const { return most_open_; }

 private:
  void serve();
  void accept_one();
  // Returns whether to keep the connection.
  bool serve_connection(int connection, short events) const;

  Behaviour behaviour_;
  Descriptor socket_;
  Descriptor stop_;
  std::uint16_t port_;
  std::vector<Descriptor> connections_;  // used by the thread, except for an unanswering server
  std::atomic<std::size_t> accepted_ = 0;
  std::atomic<std::size_t> most_open_ = 0;
  std::thread thread_;
};

}  // namespace nodepool::test_support
