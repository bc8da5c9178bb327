// Tests the server on real sockets: valid and invalid requests, and its limits.

#include "web/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "async/event.h"
#include "async/event_loop.h"
#include "tests/support/allocations.h"
#include "tests/support/network.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::web {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using async::Task;
using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::size_t kLarge = std::size_t{64} << 20;
constexpr std::string_view kFollowWithToken =
    "GET /stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer known\r\n\r\n";
constexpr auto kOutcome = asio::as_tuple(asio::use_awaitable);

class ServerTest : public testing::Test {
 protected:
  ~ServerTest() override { loop_.run(stop()); }

  Task<> stop() {
    if (server_) co_await server_->stop();
  }

  void start(Server::Limits limits = {}, ClientLimits::Limits client_limits = {}) {
    client_limits_ = std::make_shared<ClientLimits>(client_limits);
    server_ = std::make_unique<Server>(
        runtime_, log_, [this](Request request) { return answer(std::move(request)); }, limits,
        client_limits_,
        [](const Request& request) { return request.header("authorization") != nullptr; });
    loop_.run(server_->start({.host = "127.0.0.1", .port = 0}));
  }

  Task<Response> answer(Request request) {
    if (request.path == "/fails") throw std::runtime_error("it is broken");
    std::string text = request.method + " " + request.path;
    for (const auto& [name, value] : request.parameters) text += " " + name + "=" + value;
    if (request.path == "/large") text = std::string(kLarge, 'x');
    if (request.path == "/body") text = request.body;
    if (request.path == "/stream") {
      const Stream forever = [this](StreamSink& sink) { return tick(sink); };
      co_return Response{200, {}, {}, forever};
    }
    if (request.path == "/wait") {
      begun_.set();
      try {
        co_await never_.wait();
      } catch (const async::Cancelled&) {
        cancelled_.set();
        throw;
      }
    }
    if (request.path == "/flood") {
      const Stream flood = [this](StreamSink& sink) { return send_twice(sink); };
      co_return Response{200, {}, {}, flood};
    }
    co_return Response{
        200, {{"X-Test", "1"}}, std::make_shared<const std::string>(std::move(text))};
  }

  // A stream that continues after a timeout.
  Task<> send_twice(StreamSink& sink) {
    for (int i = 0; i < 2; ++i) {
      Task<std::string> sending = outcome(sink);
      outcomes_.push_back(co_await std::move(sending));
    }
    flooded_.set();
  }

  static Task<std::string> outcome(StreamSink& sink) {
    bool is_taken = false;
    try {
      std::string part(kLarge, 'x');
      is_taken = co_await sink.send(std::move(part));
    } catch (const async::DeadlineExceeded&) {
      co_return "late";
    }
    co_return is_taken ? "taken" : "refused";
  }

  Task<tcp::socket> connect() {
    tcp::socket socket(runtime_.executor);
    co_await socket.async_connect(tcp::endpoint(asio::ip::address_v4::loopback(), server_->port()),
                                  asio::use_awaitable);
    co_return socket;
  }

  // A client that has started to read a stream.
  Task<tcp::socket> follow(
      std::string_view request = "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n") {
    tcp::socket socket = co_await connect();
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    std::string begun;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(begun), "tick",
                                    asio::use_awaitable);
    co_return socket;
  }

  // A client that has requested a large body and reads only its beginning.
  Task<tcp::socket> ask_for_much() {
    tcp::socket socket = co_await connect();
    const std::string request = "GET /large HTTP/1.1\r\n\r\n";
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    std::string begun;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(begun), "xxx",
                                    asio::use_awaitable);
    co_return socket;
  }

  // Reads until the server closes the connection, which may be before everything is sent.
  Task<std::string> talk(std::string sent) {
    tcp::socket socket = co_await connect();
    co_await asio::async_write(socket, asio::buffer(sent), kOutcome);
    std::string received;
    co_await asio::async_read(socket, asio::dynamic_buffer(received), kOutcome);
    co_return received;
  }

  Task<std::string> talk_locally(std::string path, std::string sent) {
    asio::local::stream_protocol::socket socket(runtime_.executor);
    co_await socket.async_connect(asio::local::stream_protocol::endpoint(path),
                                  asio::use_awaitable);
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
  std::shared_ptr<ClientLimits> client_limits_;
  std::vector<std::string> outcomes_;  // of the parts of a flood
  async::Event flooded_{"the flood is over"};
  async::Event begun_{"a long poll has begun"};
  async::Event cancelled_{"a long poll is cancelled"};
  async::Event never_{"the end of a long poll"};
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, requests_are_answered_one_after_the_other_on_one_connection) {
  start();
  const std::string text =
      received("GET /a?b=c HTTP/1.1\r\nHost: localhost\r\n\r\nGET /d HTTP/1.0\r\n\r\n");
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

TEST_F(ServerTest, what_accompanies_the_chunks_of_a_body_has_a_memory_limit) {
  start();
  const std::string head = "POST /body HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string begun : {"1;", "0\r\nX: "}) {
    EXPECT_THAT(received(head + begun + std::string(1'000'000, 'a')), StartsWith("HTTP/1.1 413 "));
  }
  EXPECT_THAT(received(head + "1;a=b\r\nx\r\n0\r\nX: a\r\n\r\nGET /a HTTP/1.0\r\n\r\n"),
              EndsWith("GET /a"));
}

TEST_F(ServerTest, parameters_and_headers_have_a_limit) {
  start();
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  const auto posted = [this](const std::string& target, const std::string& form) {
    return received(
        fmt::format("GET {} HTTP/1.0\r\nContent-Length: {}\r\nContent-Type: "
                    "application/x-www-form-urlencoded\r\n\r\n{}",
                    target, form.size(), form));
  };
  EXPECT_THAT(posted("/a", repeated("a&", 100)), StartsWith("HTTP/1.1 200 "));
  for (const std::string& refused :
       {posted("/a", repeated("a&", 30'000)), posted("/a?" + repeated("a&", 101), ""),
        posted("/a?" + repeated("a&", 100), "a")}) {
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(refused, HasSubstr("The request has more than 100 parameters."));
  }
  const auto with_headers = [this, &repeated](int count) {
    return received("GET /a HTTP/1.0\r\n" + repeated("X: 1\r\n", count) + "\r\n");
  };
  EXPECT_THAT(with_headers(100), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(with_headers(101), StartsWith("HTTP/1.1 431 "));
}

TEST_F(ServerTest, a_request_is_in_memory_once_and_not_during_its_stream) {
  constexpr std::size_t kBody = std::size_t{8} << 20;
  start({.body = kBody});
  const std::string request =
      fmt::format("POST /stream HTTP/1.1\r\nContent-Length: {}\r\n\r\n", kBody) +
      std::string(kBody, 'x');
  const auto follow_three = [this, &request]() -> Task<> {
    const tcp::socket first = co_await follow(request);
    const tcp::socket second = co_await follow(request);
    const tcp::socket third = co_await follow(request);
  };
  const test_support::Allocations used =
      test_support::allocations_of([&] { loop_.run(follow_three()); });
  EXPECT_LT(used.most, 2 * kBody);
}

TEST_F(ServerTest, a_failure_is_logged_and_omitted) {
  start();
  const std::string text = received("GET /fails HTTP/1.0\r\n\r\n");
  EXPECT_THAT(text, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(text, Not(HasSubstr("broken")));
  EXPECT_THAT(lines_, ElementsAre("GET /fails: it is broken"));
}

TEST_F(ServerTest, a_silent_client_is_disconnected) {
  start({.request = std::chrono::seconds(0)});
  EXPECT_THAT(received(""), IsEmpty());
  EXPECT_THAT(received("GET /a HT"), IsEmpty());
}

TEST_F(ServerTest, a_client_that_does_not_read_the_response_is_disconnected) {
  for (const Server::Limits limits :
       {Server::Limits{.response = milliseconds(50)}, Server::Limits{.piece = milliseconds(50)}}) {
    loop_.run(stop());
    start(limits, {.connections = 1});
    const auto lazy_first = [this]() -> Task<std::string> {
      const tcp::socket lazy = co_await ask_for_much();
      Task<std::string> talking = talk("GET /a HTTP/1.0\r\n\r\n");
      co_return co_await std::move(talking);
    };
    EXPECT_THAT(loop_.run(lazy_first()), EndsWith("GET /a"));
  }
}

TEST_F(ServerTest, a_stream_gets_nothing_through_after_a_timeout) {
  start({.response = milliseconds(50)});
  const auto read_nothing = [this]() -> Task<> {
    tcp::socket socket = co_await connect();
    const std::string request = "GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n";
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    co_await flooded_.wait();
  };
  loop_.run(read_nothing());
  EXPECT_THAT(outcomes_, ElementsAre("late", "refused"));
}

TEST_F(ServerTest, unread_responses_have_a_memory_limit) {
  start({}, {.output = kLarge + kLarge / 2, .output_per_local_origin = 2 * kLarge});
  const auto beside_much = [this](std::string request) -> Task<std::string> {
    const tcp::socket lazy = co_await ask_for_much();
    co_return co_await talk(std::move(request));
  };
  EXPECT_THAT(loop_.run(beside_much("GET /large HTTP/1.0\r\n\r\n")),
              StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(loop_.run(beside_much("GET /a HTTP/1.0\r\n\r\n")), EndsWith("GET /a"));
  EXPECT_THAT(lines_, Contains(HasSubstr("Too much unread output, refused: 127.0.0.1")));
}

TEST_F(ServerTest, many_silent_clients_do_not_block_others) {
  start({.request = test_support::kPatience}, {.connections = 3});
  const auto beside_idle_ones = [this]() -> Task<std::string> {
    std::vector<tcp::socket> idle;
    for (int i = 0; i < 10; ++i) idle.push_back(co_await connect());
    Task<std::string> talking = talk("GET /a HTTP/1.0\r\n\r\n");
    co_return co_await std::move(talking);
  };
  EXPECT_THAT(loop_.run(beside_idle_ones()), EndsWith("GET /a"));
}

TEST_F(ServerTest,
       a_long_request_without_a_token_is_cancelled_where_the_next_needs_its_connection) {
  start({}, {.connections = 1});
  const auto beside_busy_ones = [this]() -> Task<std::string> {
    tcp::socket busy = co_await connect();
    const std::string request = "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n";
    co_await asio::async_write(busy, asio::buffer(request), asio::use_awaitable);
    co_await begun_.wait();
    std::string received = co_await talk("GET /a HTTP/1.0\r\n\r\n");
    co_await cancelled_.wait();
    const tcp::socket stream = co_await follow();
    received += co_await talk("GET /b HTTP/1.0\r\n\r\n");
    co_return received;
  };
  const std::string received = loop_.run(beside_busy_ones());
  EXPECT_THAT(received, HasSubstr("GET /aHTTP/1.1 200"));
  EXPECT_THAT(received, EndsWith("GET /b"));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("closed busy ones without a valid token: 127.0.0.1")));
}

TEST_F(ServerTest, where_all_connections_are_in_use_the_next_waits_and_the_socket_has_its_own) {
  start({}, {.connections = 1, .local = 1});
  const std::string path = directory_.path() / "socket";
  Server local(
      runtime_, log_, [this](Request request) { return answer(std::move(request)); },
      Server::Limits(), client_limits_);
  loop_.run(local.start({.kind = ListenAddress::Kind::local, .path = path}));
  const auto one_after_the_other = [this, &path]() -> Task<std::string> {
    std::optional<tcp::socket> busy = co_await follow(kFollowWithToken);
    tcp::socket next = co_await connect();
    const std::string request = "GET /tcp HTTP/1.0\r\n\r\n";
    co_await asio::async_write(next, asio::buffer(request), asio::use_awaitable);
    std::string received = co_await talk_locally(path, "GET /local HTTP/1.0\r\n\r\n");
    busy.reset();
    co_await asio::async_read(next, asio::dynamic_buffer(received), kOutcome);
    co_return received;
  };
  const std::string received = loop_.run(one_after_the_other());
  EXPECT_THAT(received, testing::ContainsRegex("GET /localHTTP/1.1 200"));
  EXPECT_THAT(received, EndsWith("GET /tcp"));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("All connections are busy")));
  loop_.run(local.stop());
}

TEST_F(ServerTest, a_port_that_is_taken_is_said_once_and_waited_for) {
  start();
  Server other(runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(other.start({.host = "127.0.0.1", .port = server_->port()}));
  EXPECT_EQ(other.port(), 0);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("Address already in use")));
  EXPECT_EQ(server_->problem(), "");
  EXPECT_EQ(other.problem(), "the web server cannot listen at 127.0.0.1, port " +
                                 std::to_string(server_->port()) + ": Address already in use");
  loop_.run(other.stop());
  EXPECT_EQ(other.problem(), "");
}

TEST_F(ServerTest, localhost_and_no_address_are_the_loopback_address) {
  for (const char* host : {"localhost", ""}) {
    server_ = std::make_unique<Server>(
        runtime_, log_, [this](Request request) { return answer(std::move(request)); });
    loop_.run(server_->start({.host = host, .port = 0}));
    EXPECT_THAT(received("GET /a HTTP/1.0\r\nHost: localhost\r\n\r\n"), EndsWith("GET /a")) << host;
    EXPECT_THAT(received("GET /a HTTP/1.0\r\nHost: evil.example\r\n\r\n"), HasSubstr(" 421 "))
        << host;
    loop_.run(server_->stop());
  }
}

TEST_F(ServerTest, an_ipv6_address_may_have_brackets) {
  if (!test_support::has_ipv6_loopback()) GTEST_SKIP() << "this machine has no IPv6";
  for (const char* host : {"::1", "[::1]"}) {
    Server server(runtime_, log_, [this](Request request) { return answer(std::move(request)); });
    loop_.run(server.start({.host = host, .port = 0}));
    EXPECT_NE(server.port(), 0) << host;
    loop_.run(server.stop());
  }
}

TEST_F(ServerTest, an_unknown_host_name_is_retried) {
  Server server(runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(server.start({.host = "nobody.invalid", .port = 0}));
  EXPECT_EQ(server.port(), 0);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("cannot listen at nobody.invalid")));
  loop_.run(server.stop());
}

// Sends "one", "two", … until the client disconnects.
Task<> count(StreamSink& sink) {
  for (int i = 1; i <= 3; ++i) {
    if (!co_await sink.send("part " + std::to_string(i) + "\n")) co_return;
  }
}

TEST_F(ServerTest, a_stream_comes_in_parts_and_another_request_may_follow) {
  server_ = std::make_unique<Server>(runtime_, log_, [](Request request) -> Task<Response> {
    Response response = text_page("the end");
    if (request.path == "/stream") response = Response{200, {}, {}, count};
    co_return response;
  });
  loop_.run(server_->start({.host = "127.0.0.1", .port = 0}));
  const std::string text = received(
      "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(text, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(text, HasSubstr("7\r\npart 1\n\r\n7\r\npart 2\n\r\n7\r\npart 3\n\r\n0\r\n\r\n"));
  EXPECT_THAT(text, EndsWith("the end"));
  EXPECT_THAT(received("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
              EndsWith("Connection: close\r\n\r\npart 1\npart 2\npart 3\n"))
      << "chunks came with HTTP/1.1";
}

TEST_F(ServerTest, streams_have_a_limit_and_end_with_the_server) {
  start({}, {.streams = 1});
  const auto two_streams = [this]() -> Task<std::string> {
    const tcp::socket first = co_await follow();
    co_return co_await talk("GET /stream HTTP/1.1\r\n\r\n");
  };
  EXPECT_THAT(loop_.run(two_streams()), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(lines_, ElementsAre("Too many streams, refused: 127.0.0.1"));
}

TEST_F(ServerTest, connections_are_limited_by_client_and_rejections_are_one_log_line) {
  start({}, {.connections = 9, .per_local_origin = 2});
  const auto more = [this]() -> Task<std::string> {
    const tcp::socket first = co_await follow(kFollowWithToken);
    const tcp::socket second = co_await follow(kFollowWithToken);
    std::string received;
    for (int i = 0; i < 5; ++i) received += co_await talk("GET / HTTP/1.0\r\n\r\n");
    co_return received;
  };
  EXPECT_THAT(loop_.run(more()), IsEmpty());
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("Too many connections from one address, refused")));
  loop_.run(server_->stop());
  EXPECT_THAT(lines_, Contains(HasSubstr("refused: 4 times more within a minute")));
}

TEST_F(ServerTest, a_head_of_a_stream_has_no_body_either) {
  start();
  const std::string text = received("HEAD /stream HTTP/1.1\r\n\r\nGET /next HTTP/1.0\r\n\r\n");
  EXPECT_THAT(text, HasSubstr("Transfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK"));
  EXPECT_THAT(text, Not(HasSubstr("tick")));
  EXPECT_THAT(text, EndsWith("GET /next"));
}

TEST_F(ServerTest, a_request_of_ambiguous_length_is_rejected_and_the_rest_is_not_read) {
  start();
  const auto answered = [this](const std::string& headers, const std::string& body) {
    const std::string text = received("POST /a HTTP/1.1\r\n" + headers + "\r\n" + body +
                                      "GET /smuggled HTTP/1.1\r\n\r\n");
    EXPECT_THAT(text, Not(HasSubstr("smuggled"))) << headers;
    EXPECT_THAT(text, HasSubstr("Connection: close")) << headers;
    return text.substr(0, std::string("HTTP/1.1 400").size());
  };
  EXPECT_EQ(answered("Transfer-Encoding: gzip\r\n", ""), "HTTP/1.1 501");
  EXPECT_EQ(answered("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), "HTTP/1.1 501");
  EXPECT_EQ(answered("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
            "HTTP/1.1 400");
  EXPECT_EQ(answered("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            "HTTP/1.1 400");
  EXPECT_EQ(answered("Content-Length: 0\r\nContent-Length: 5\r\n", "hello"), "HTTP/1.1 400");
  EXPECT_EQ(answered("Host: localhost\r\nHost: other\r\n", ""), "HTTP/1.1 400");
  EXPECT_THAT(received("POST /body HTTP/1.1\r\nConnection: close\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
              EndsWith("\r\n\r\nab"));
}

TEST_F(ServerTest, json_is_not_parsed_as_a_form) {
  start();
  const auto posted = [this](const std::string& path, const std::string& body) {
    return received(
        fmt::format("POST {} HTTP/1.0\r\nContent-Length: {}\r\nContent-Type: "
                    "application/x-www-form-urlencoded\r\n\r\n{}",
                    path, body.size(), body));
  };
  EXPECT_THAT(posted("/a?b=c", R"( {"x": "&wait=60s"})"), EndsWith("POST /a b=c"));
  EXPECT_THAT(posted("/body", R"({"x": "a+%20"})"), EndsWith(R"({"x": "a+%20"})"));
}

TEST_F(ServerTest, browsers_make_no_more_of_an_answer_than_it_is) {
  start();
  for (const char* request :
       {"GET /a HTTP/1.0", "GET /fails HTTP/1.0", "nonsense", "HEAD /stream HTTP/1.0"}) {
    const std::string text = received(std::string(request) + "\r\n\r\n");
    EXPECT_THAT(text, HasSubstr("X-Content-Type-Options: nosniff\r\n")) << request;
    EXPECT_THAT(text, HasSubstr("Content-Security-Policy: default-src 'none'")) << request;
  }
}

TEST_F(ServerTest, a_loopback_server_accepts_only_its_own_names) {
  start();
  const auto asked = [this](const std::string& path, const std::string& host) {
    return received("GET " + path + " HTTP/1.0\r\nHost: " + host + "\r\n\r\n").substr(9, 3);
  };
  for (const char* host : {"localhost", "LocalHost:80", "127.0.0.1:8005", "127.1.2.3", "[::1]:1"}) {
    EXPECT_EQ(asked("/a", host), "200") << host;
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "", "[::2]", "192.0.2.1"}) {
    EXPECT_EQ(asked("/a", host), "421") << host;
  }
  EXPECT_EQ(asked("/ready", "evil.example"), "200");
  loop_.run(server_->stop());
  server_ = std::make_unique<Server>(
      runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(server_->start({.host = "127.0.0.1", .port = 0, .names = {"nodes.example"}}));
  EXPECT_EQ(asked("/a", "nodes.example"), "200");
}

TEST_F(ServerTest, public_paths_can_be_read_with_any_host_name) {
  server_ = std::make_unique<Server>(
      runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(server_->start({.host = "127.0.0.1", .port = 0, .public_paths = {"/a"}}));
  const auto asked = [this](const std::string& request) {
    return received(request + " HTTP/1.0\r\nHost: nodes.example\r\n\r\n").substr(9, 3);
  };
  EXPECT_EQ(asked("GET /a?fields=id"), "200");
  EXPECT_EQ(asked("HEAD /a"), "200");
  for (const char* request : {"POST /a", "GET /a/", "GET /b", "GET /"}) {
    EXPECT_EQ(asked(request), "421") << request;
  }
}

TEST_F(ServerTest, a_unix_socket_identifies_the_user_of_the_client) {
  const std::string path = directory_.path() / "socket";
  server_ = std::make_unique<Server>(runtime_, log_, [](Request request) -> Task<Response> {
    co_return text_page("user " + std::to_string(*request.peer.user) +
                        (request.peer.is_private ? ", in private" : ""));
  });
  const ListenAddress listen_address{
      .kind = ListenAddress::Kind::local, .path = path, .mode = 0600};
  loop_.run(server_->start(listen_address));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
  EXPECT_THAT(loop_.run(talk_locally(path, "GET / HTTP/1.0\r\nHost: nodepool\r\n\r\n")),
              EndsWith("user " + std::to_string(::geteuid()) + ", in private"));
  loop_.run(server_->stop());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ServerTest, a_socket_that_was_left_behind_is_replaced_and_one_in_use_is_not) {
  const std::string path = directory_.path() / "socket";
  const ListenAddress listen_address{.kind = ListenAddress::Kind::local, .path = path};
  {
    asio::local::stream_protocol::acceptor dead(runtime_.executor);
    dead.open();
    dead.bind(asio::local::stream_protocol::endpoint(path));
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  Server first(runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(first.start(listen_address));
  EXPECT_THAT(lines_, IsEmpty());
  Server second(runtime_, log_, [this](Request request) { return answer(std::move(request)); });
  loop_.run(second.start(listen_address));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("another process listens")));
  loop_.run(second.stop());
  EXPECT_TRUE(std::filesystem::exists(path));
  loop_.run(first.stop());
}

}  // namespace
}  // namespace nodepool::web
