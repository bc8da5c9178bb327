#include "tests/support/network.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace nodepool::test_support {

namespace {

// A socket address with its size.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

void check(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::system_category(), what);
}

SocketAddress any_port_of(const std::string& address) {
  SocketAddress result;
  if (address.contains(':')) {
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
    ipv6->sin6_family = AF_INET6;
    ::inet_pton(AF_INET6, address.c_str(), &ipv6->sin6_addr);
    result.size = sizeof *ipv6;
  } else {
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&result.storage);
    ipv4->sin_family = AF_INET;
    ::inet_pton(AF_INET, address.c_str(), &ipv4->sin_addr);
    result.size = sizeof *ipv4;
  }
  return result;
}

SocketAddress name_of(int socket) {
  SocketAddress result;
  result.size = sizeof result.storage;
  check(::getsockname(socket, result.get(), &result.size), "getsockname");
  return result;
}

// The port has the same offset in both families.
std::uint16_t port_of(int socket) {
  SocketAddress address = name_of(socket);
  return ntohs(reinterpret_cast<sockaddr_in*>(address.get())->sin_port);
}

Descriptor bound_socket(const std::string& address) {
  SocketAddress bound = any_port_of(address);
  Descriptor socket(
      ::socket(bound.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  check(socket.get(), "socket");
  check(::bind(socket.get(), bound.get(), bound.size), "bind");
  // Set after bind(), because sockets that allow it before could get the same port.
  const int yes = 1;
  check(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), "SO_REUSEADDR");
  return socket;
}

}  // namespace

bool has_ipv6_loopback() {
  try {
    bound_socket(kLoopback6);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

ReservedPort::ReservedPort(const std::string& address)
    : socket_(bound_socket(address)), number_(port_of(socket_.get())) {}

std::uint16_t free_port() {
  return ReservedPort().number();
}

TcpListener::TcpListener(Behaviour behaviour, const std::string& address)
    : behaviour_(behaviour),
      socket_(bound_socket(address)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      port_(port_of(socket_.get())) {
  const bool unanswering = behaviour == Behaviour::unanswering;
  check(::listen(socket_.get(), unanswering ? 0 : 1024), "listen");
  if (!unanswering) {
    thread_ = std::thread([this] { serve(); });
    return;
  }
  // Fill the backlog; the kernel ignores further attempts.
  for (int i = 0; i < 4; ++i) {
    SocketAddress own = name_of(socket_.get());
    Descriptor client(
        ::socket(own.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    check(client.get(), "socket");
    if (::connect(client.get(), own.get(), own.size) < 0 && errno != EINPROGRESS) {
      check(-1, "connect");
    }
    connections_.push_back(std::move(client));
  }
}

TcpListener::~TcpListener() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void TcpListener::serve() {
  while (true) {
    const bool writes = behaviour_ == Behaviour::garbage || behaviour_ == Behaviour::endless_lines;
    std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
    for (const Descriptor& connection : connections_) {
      polled.push_back(
          {connection.get(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
    }
    ::poll(polled.data(), polled.size(), -1);
    if (polled[0].revents != 0) return;
    std::size_t next = 2;
    std::erase_if(connections_, [&](const Descriptor& connection) {
      return !serve_connection(connection.get(), polled[next++].revents);
    });
    if (polled[1].revents != 0) accept_one();
  }
}

void TcpListener::accept_one() {
  Descriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (connection.get() < 0) return;
  ++accepted_;
  if (behaviour_ == Behaviour::closing) return;
  connections_.push_back(std::move(connection));
  most_open_ = std::max(most_open_.load(), connections_.size());
}

bool TcpListener::serve_connection(int connection, short events) const {
  char received[4096];
  if ((events & (POLLIN | POLLERR | POLLHUP)) != 0) {
    const ssize_t size = ::recv(connection, received, sizeof received, 0);
    if (size == 0 || (size < 0 && errno != EAGAIN)) return false;
  }
  if ((events & POLLOUT) != 0) {
    std::string sent = "no secure shell here yet, please hold the line\r\n";
    if (behaviour_ == Behaviour::garbage) {
      // Arbitrary bytes that are not text.
      sent.assign(4096, '\x9f');
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 131 + 7);
    }
    const ssize_t size = ::send(connection, sent.data(), sent.size(), MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN) return false;
  }
  return true;
}

}  // namespace nodepool::test_support
