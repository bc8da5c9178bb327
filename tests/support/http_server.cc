#include "tests/support/http_server.h"

#include <fmt/format.h>

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace nodepool::http {

namespace asio = boost::asio;
using asio::ip::tcp;

struct HttpServer::Acceptor {
  explicit Acceptor(const async::Executor& executor)
      : socket(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}
  tcp::acceptor socket;
};

struct HttpServer::Connection {
  explicit Connection(tcp::socket connected) : socket(std::move(connected)) {}
  tcp::socket socket;
  std::string read_ahead;
};

HttpServer::HttpServer(const async::Runtime& runtime, Handler handler)
    : runtime_(runtime),
      handler_(std::move(handler)),
      acceptor_(std::make_unique<Acceptor>(runtime.executor)),
      scope_(runtime, [](const std::string&, const std::string&) {}) {
  scope_.spawn("http server", accept());
}

HttpServer::~HttpServer() = default;

std::string HttpServer::url() const {
  return fmt::format("http://127.0.0.1:{}", acceptor_->socket.local_endpoint().port());
}

async::Task<> HttpServer::accept() {
  while (true) {
    auto connection =
        std::make_shared<Connection>(co_await acceptor_->socket.async_accept(asio::use_awaitable));
    ++connections_;
    scope_.spawn("http connection", serve(std::move(connection)));
  }
}

async::Task<> HttpServer::serve(std::shared_ptr<Connection> connection) {
  std::string& text = connection->read_ahead;
  while (true) {
    const auto [error, head] =
        co_await asio::async_read_until(connection->socket, asio::dynamic_buffer(text), "\r\n\r\n",
                                        asio::as_tuple(asio::use_awaitable));
    if (error) co_return;
    Call call;
    std::size_t length = 0;
    const std::size_t line_end = text.find("\r\n");
    const std::string line = text.substr(0, line_end);
    call.method = line.substr(0, line.find(' '));
    call.target = line.substr(call.method.size() + 1, line.rfind(' ') - call.method.size() - 1);
    for (std::size_t at = line_end + 2; at < head - 2;) {
      const std::size_t end = text.find("\r\n", at);
      const std::size_t colon = text.find(':', at);
      std::string name = text.substr(at, colon - at);
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      call.headers.emplace_back(name, text.substr(colon + 2, end - colon - 2));
      if (name == "content-length") length = std::stoul(call.headers.back().second);
      at = end + 2;
    }
    text.erase(0, head);
    if (text.size() < length) {
      co_await asio::async_read(connection->socket, asio::dynamic_buffer(text),
                                asio::transfer_exactly(length - text.size()), asio::use_awaitable);
    }
    call.body = text.substr(0, length);
    text.erase(0, length);
    calls_.push_back(call);
    async::Task<std::string> answering = handler_(call);
    const std::string answer = co_await std::move(answering);
    if (answer.empty()) co_return;
    co_await asio::async_write(connection->socket, asio::buffer(answer), asio::use_awaitable);
  }
}

std::string answer(int status, const std::string& body, const std::string& headers) {
  return fmt::format("HTTP/1.1 {} x\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                     headers, body);
}

}  // namespace nodepool::http
