#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/descriptor.h"

namespace nodepool::test_support {

// The addresses that tests use; nothing leaves the machine.
inline constexpr char kLoopback[] = "127.0.0.1";
inline constexpr char kLoopback6[] = "::1";

// Whether the machine has IPv6 on its loopback interface.
bool has_ipv6_loopback();

// A TCP port that nobody else is given while this object lives, neither by the kernel nor by
// another ReservedPort. A server that sets SO_REUSEADDR may listen on it all the same; until one
// does, connections are refused.
class ReservedPort {
 public:
  // Throws std::system_error.
  explicit ReservedPort(const std::string& address = kLoopback);

  std::uint16_t number() const { return number_; }

 private:
  Descriptor socket_;
  std::uint16_t number_;
};

// A loopback port that was free a moment ago, for servers that take only a number. Where possible,
// keep a ReservedPort instead. Throws std::system_error.
std::uint16_t free_port();

// A server that misbehaves. It runs on a thread of its own.
class TcpListener {
 public:
  enum class Behaviour {
    silent,         // accepts connections and keeps them, without a word
    closing,        // closes every connection at once
    garbage,        // sends random bytes without end
    endless_lines,  // sends lines without end, as if the SSH banner were yet to come
    unanswering,    // does not even accept: connection attempts hang
  };

  // Throws std::system_error.
  explicit TcpListener(Behaviour behaviour, const std::string& address = kLoopback);
  ~TcpListener();
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  std::uint16_t port() const { return port_; }

  // How many connections it has accepted, and the most that were open at the same time.
  std::size_t accepted() const { return accepted_; }
  std::size_t most_open() const { return most_open_; }

 private:
  void serve();
  void accept_one();
  // Returns whether the connection is to be kept.
  bool serve_connection(int connection, short events) const;

  Behaviour behaviour_;
  Descriptor socket_;
  Descriptor stop_;
  std::uint16_t port_;
  std::vector<Descriptor> connections_;  // the thread's own, except for an unanswering server
  std::atomic<std::size_t> accepted_ = 0;
  std::atomic<std::size_t> most_open_ = 0;
  std::thread thread_;
};

}  // namespace nodepool::test_support
