#include "tests/integration/zookeeper/proxy_thread.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "async/runtime.h"

namespace nodepool::integration {

ProxyThread::ProxyThread(std::uint16_t target) {
  std::promise<std::uint16_t> started;
  std::future<std::uint16_t> port = started.get_future();
  thread_ = std::thread(&ProxyThread::serve, this, target, std::move(started));
  port_ = port.get();
}

ProxyThread::~ProxyThread() {
  boost::asio::post(loop_.executor(), [this] { over_.set(); });
  thread_.join();
}

void ProxyThread::serve(std::uint16_t target, std::promise<std::uint16_t> started) {
  async::SystemClock clock;
  async::Random random{1};
  const async::Runtime runtime{loop_.executor(), clock, random};
  proxy_ = std::make_unique<TcpProxy>(loop_, runtime, target);
  started.set_value(proxy_->port());
  loop_.run(over_.wait());
  proxy_.reset();
}

void ProxyThread::cut() {
  perform([](TcpProxy& proxy) { proxy.cut(); });
}

void ProxyThread::sever() {
  perform([](TcpProxy& proxy) {
    proxy.refuse(true);
    proxy.cut();
  });
}

void ProxyThread::restore() {
  perform([](TcpProxy& proxy) { proxy.refuse(false); });
}

void ProxyThread::report_changes_as_of(const std::string& root) {
  perform([root](TcpProxy& proxy) { proxy.report_changes_as_of(root); });
}

void ProxyThread::perform(std::function<void(TcpProxy&)> action) {
  std::promise<void> done;
  boost::asio::post(loop_.executor(), [&] {
    action(*proxy_);
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace nodepool::integration
