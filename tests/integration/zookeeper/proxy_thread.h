#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "async/event.h"
#include "async/event_loop.h"
#include "tests/coordination/zookeeper/fixture/tcp_proxy.h"

namespace nodepool::integration {

// A proxy that passes and breaks connections while the test's own thread waits for programs.
class ProxyThread {
 public:
  // In front of `target`, a loopback port.
  explicit ProxyThread(std::uint16_t target);
  ~ProxyThread();
  ProxyThread(const ProxyThread&) = delete;
  ProxyThread& operator=(const ProxyThread&) = delete;

  std::uint16_t port() const { return port_; }

  // Ends all connections; new ones are accepted.
  void cut();
  // Ends all connections, and new ones at once, until restore().
  void sever();
  void restore();
  // As TcpProxy's.
  void report_changes_as_of(const std::string& root);

 private:
  using TcpProxy = coordination::zookeeper::TcpProxy;

  void serve(std::uint16_t target, std::promise<std::uint16_t> started);
  // Runs it on the thread, and waits.
  void perform(std::function<void(TcpProxy&)> action);

  async::EventLoop loop_;
  async::Event over_{"the end of the test"};
  std::unique_ptr<TcpProxy> proxy_;  // the thread's
  std::thread thread_;
  std::uint16_t port_ = 0;
};

}  // namespace nodepool::integration
