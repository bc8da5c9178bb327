// The server on real sockets: what clients send, and what they may not do.

#include "web/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "async/event_loop.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::web {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using async::Task;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr auto kOutcome = asio::as_tuple(asio::use_awaitable);

class ServerTest : public testing::Test {
 protected:
  ~ServerTest() override { loop_.run(stop()); }

  Task<> stop() {
    if (server_) co_await server_->stop();
  }

  void start(Server::Limits limits = {}) {
    server_ = std::make_unique<Server>(
        runtime_, log_, [this](Request request) { return answer(std::move(request)); }, limits);
    loop_.run(server_->start({.host = "127.0.0.1", .port = 0}));
  }

  Task<Response> answer(Request request) {
    if (request.path == "/fails") throw std::runtime_error("it is broken");
    std::string text = request.method + " " + request.path;
    for (const auto& [name, value] : request.parameters) text += " " + name + "=" + value;
    if (request.path == "/large") text = std::string(std::size_t{64} << 20, 'x');
    co_return Response{
        200, {{"X-Test", "1"}}, std::make_shared<const std::string>(std::move(text))};
  }

  Task<tcp::socket> connect() {
    tcp::socket socket(runtime_.executor);
    co_await socket.async_connect(tcp::endpoint(asio::ip::address_v4::loopback(), server_->port()),
                                  asio::use_awaitable);
    co_return socket;
  }

  // What the server sends until it closes the connection.
  Task<std::string> talk(std::string sent) {
    tcp::socket socket = co_await connect();
    co_await asio::async_write(socket, asio::buffer(sent), asio::use_awaitable);
    std::string received;
    co_await asio::async_read(socket, asio::dynamic_buffer(received), kOutcome);
    co_return received;
  }

  Task<> tick(StreamSink& sink) {
    while (co_await sink.send("tick\n")) {
      co_await clock_.sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::string received(std::string sent) { return loop_.run(talk(std::move(sent))); }

  test_support::TemporaryDirectory directory_;
  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{3};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  std::vector<std::string> lines_;
  telemetry::Logger log_{
      telemetry::Log::to_consumer([this](telemetry::LogLevel, std::string_view,
                                         std::string_view text) { lines_.emplace_back(text); },
                                  telemetry::LogLevel::warning),
      "test"};
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, requests_are_answered_one_after_the_other_on_one_connection) {
  start();
  const std::string text =
      received("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\nGET /d HTTP/1.0\r\n\r\n");
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(text, HasSubstr("X-Test: 1\r\n"));
  EXPECT_THAT(text, HasSubstr("Content-Length: 10\r\n\r\nGET /a b=cHTTP/1.1 200 OK"));
  EXPECT_THAT(text, EndsWith("\r\n\r\nGET /d"));
}

TEST_F(ServerTest, a_form_is_parameters) {
  start();
  EXPECT_THAT(received("POST /a HTTP/1.0\r\nContent-Length: 5\r\n"
                       "Content-Type: application/x-www-form-urlencoded\r\n\r\nb=c+d"),
              EndsWith("POST /a b=c d"));
}

TEST_F(ServerTest, a_head_is_the_answer_without_its_body) {
  start();
  EXPECT_THAT(received("HEAD /a HTTP/1.0\r\n\r\n"), EndsWith("Content-Length: 7\r\n\r\n"));
}

TEST_F(ServerTest, what_cannot_be_understood_is_refused) {
  start();
  EXPECT_THAT(received("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(received("GET a%zz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(received("GET /a HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(received("POST /a HTTP/1.1\r\nContent-Length: 100000\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(ServerTest, a_failure_is_logged_and_not_shown) {
  start();
  const std::string text = received("GET /fails HTTP/1.0\r\n\r\n");
  EXPECT_THAT(text, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(text, Not(HasSubstr("broken")));
  EXPECT_THAT(lines_, testing::ElementsAre("GET /fails: it is broken"));
}

TEST_F(ServerTest, who_says_nothing_is_let_go) {
  start({.request = std::chrono::seconds(0)});
  EXPECT_THAT(received(""), IsEmpty());
  EXPECT_THAT(received("GET /a HT"), IsEmpty());
}

TEST_F(ServerTest, who_does_not_take_the_answer_is_let_go) {
  start({.connections = 1, .answer = std::chrono::seconds(0)});
  const auto lazy_first = [this]() -> Task<std::string> {
    tcp::socket lazy = co_await connect();
    const std::string request = "GET /large HTTP/1.1\r\n\r\n";
    co_await asio::async_write(lazy, asio::buffer(request), asio::use_awaitable);
    Task<std::string> talking = talk("GET /a HTTP/1.0\r\n\r\n");  // there is room for one at a time
    co_return co_await std::move(talking);
  };
  EXPECT_NO_THROW(loop_.run(lazy_first()));
}

TEST_F(ServerTest, many_clients_that_say_nothing_do_not_keep_others_out) {
  start({.connections = 3, .request = std::chrono::milliseconds(50)});
  const auto beside_idle_ones = [this]() -> Task<std::string> {
    std::vector<tcp::socket> idle;
    for (int i = 0; i < 10; ++i) idle.push_back(co_await connect());
    Task<std::string> talking = talk("GET /a HTTP/1.0\r\n\r\n");
    co_return co_await std::move(talking);
  };
  EXPECT_THAT(loop_.run(beside_idle_ones()), EndsWith("GET /a"));
}

TEST_F(ServerTest, a_port_that_is_taken_is_said_once_and_waited_for) {
  start();
  Server other(runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(other.start({.host = "127.0.0.1", .port = server_->port()}));
  EXPECT_EQ(other.port(), 0);
  EXPECT_THAT(lines_, testing::ElementsAre(HasSubstr("Address already in use")));
  loop_.run(other.stop());
}

TEST_F(ServerTest, a_name_may_be_listened_at_and_one_that_nobody_knows_is_waited_for) {
  Server server(runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(server.start({.host = "localhost", .port = 0}));
  EXPECT_NE(server.port(), 0);
  loop_.run(server.stop());
  loop_.run(server.start({.host = "nobody.invalid", .port = 0}));
  EXPECT_EQ(server.port(), 0);
  EXPECT_THAT(lines_, testing::ElementsAre(HasSubstr("Cannot listen at nobody.invalid")));
}

// Says "one", "two", … until its client has enough, or for ever.
Task<> count(StreamSink& sink) {
  for (int i = 1; i <= 3; ++i) {
    if (!co_await sink.send("part " + std::to_string(i) + "\n")) co_return;
  }
}

TEST_F(ServerTest, a_stream_comes_in_parts_and_another_request_may_follow) {
  server_ = std::make_unique<Server>(
      runtime_, log_,
      [](Request request) -> Task<Response> {
        Response response = text_page("the end");
        if (request.path == "/stream") response = Response{200, {}, {}, count};
        co_return response;
      },
      Server::Limits());
  loop_.run(server_->start({.host = "127.0.0.1", .port = 0}));
  const std::string text = received(
      "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(text, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(text, HasSubstr("7\r\npart 1\n\r\n7\r\npart 2\n\r\n7\r\npart 3\n\r\n0\r\n\r\n"));
  EXPECT_THAT(text, EndsWith("the end"));
}

TEST_F(ServerTest, streams_have_a_limit_and_end_with_the_server) {
  server_ = std::make_unique<Server>(
      runtime_, log_,
      [this](Request) -> Task<Response> {
        const Stream forever = [this](StreamSink& sink) { return tick(sink); };
        co_return Response{200, {}, {}, forever};
      },
      Server::Limits{.streams = 1});
  loop_.run(server_->start({.host = "127.0.0.1", .port = 0}));
  const auto two_streams = [this]() -> Task<std::string> {
    tcp::socket first = co_await connect();
    const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    co_await asio::async_write(first, asio::buffer(request), asio::use_awaitable);
    std::string begun;
    co_await asio::async_read_until(first, asio::dynamic_buffer(begun), "tick",
                                    asio::use_awaitable);
    co_return co_await talk(request);
  };
  EXPECT_THAT(loop_.run(two_streams()), StartsWith("HTTP/1.1 503"));
}

TEST_F(ServerTest, one_client_does_not_get_all_connections) {
  start({.connections = 3, .of_one = 2});
  const auto third = [this]() -> Task<std::string> {
    tcp::socket first = co_await connect();
    tcp::socket second = co_await connect();
    co_return co_await talk("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  };
  EXPECT_THAT(loop_.run(third()), IsEmpty());
}

TEST_F(ServerTest, a_socket_tells_whose_process_the_client_is) {
  const std::string path = directory_.path() / "socket";
  server_ = std::make_unique<Server>(runtime_, log_, [](Request request) -> Task<Response> {
    co_return text_page("user " + std::to_string(*request.peer.user) +
                        (request.peer.is_private ? ", in private" : ""));
  });
  const Door door{.kind = Door::Kind::local, .path = path, .mode = 0600};
  loop_.run(server_->start(door));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
  const auto ask = [this, &path]() -> Task<std::string> {
    asio::local::stream_protocol::socket socket(runtime_.executor);
    co_await socket.async_connect(asio::local::stream_protocol::endpoint(path),
                                  asio::use_awaitable);
    const std::string request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    std::string received;
    co_await asio::async_read(socket, asio::dynamic_buffer(received), kOutcome);
    co_return received;
  };
  EXPECT_THAT(loop_.run(ask()), EndsWith("user " + std::to_string(::geteuid()) + ", in private"));
  loop_.run(server_->stop());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ServerTest, a_socket_that_was_left_behind_is_replaced_and_one_in_use_is_not) {
  const std::string path = directory_.path() / "socket";
  const Door door{.kind = Door::Kind::local, .path = path};
  {
    asio::local::stream_protocol::acceptor dead(runtime_.executor);
    dead.open();
    dead.bind(asio::local::stream_protocol::endpoint(path));
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  Server first(runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(first.start(door));
  EXPECT_THAT(lines_, IsEmpty());
  Server second(runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(second.start(door));
  EXPECT_THAT(lines_, testing::ElementsAre(HasSubstr("another process listens")));
  loop_.run(second.stop());
  EXPECT_TRUE(std::filesystem::exists(path));
  loop_.run(first.stop());
}

}  // namespace
}  // namespace nodepool::web
