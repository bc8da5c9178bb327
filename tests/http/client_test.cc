#include "http/client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <deque>
#include <filesystem>

#include <boost/asio/this_coro.hpp>

#include "async/event.h"
#include "async/event_loop.h"
#include "http/file_body.h"
#include "http/rate_governor.h"
#include "http/retry.h"
#include "tests/support/child.h"
#include "tests/support/http_server.h"
#include "tests/support/network.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/virtual_time.h"

namespace nodepool::http {
namespace {

using async::Task;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// An option of all sockets of this process that are connected to the server.
std::vector<int> socket_options(const HttpServer& server, int level, int name) {
  const int port = std::stoi(server.url().substr(server.url().rfind(':') + 1));
  std::vector<int> values;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename().string());
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != port) continue;
    int value = 0;
    size = sizeof value;
    EXPECT_EQ(::getsockopt(socket, level, name, &value, &size), 0);
    values.push_back(value);
  }
  return values;
}

class HttpClientTest : public testing::Test {
 protected:
  HttpClientTest()
      : server_(runtime_, [this](const HttpServer::Call& call) { return serve(call); }) {}
  ~HttpClientTest() override { loop_.run(server_.stop()); }

  Task<std::string> serve(const HttpServer::Call& /*call*/) {
    if (hold_ != nullptr) co_await hold_->wait();
    std::string next = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    co_return next;
  }

  Client& client(ClientOptions options = {}) {
    const auto log = telemetry::Log::to_consumer(
        [this](telemetry::LogLevel, std::string_view, std::string_view message) {
          log_ += std::string(message) + "\n";
        },
        telemetry::LogLevel::debug);
    client_.emplace(runtime_, std::move(options), telemetry::Logger(log, "test"),
                    [this](const Attempt& attempt) { statuses_.push_back(attempt.status); });
    return *client_;
  }

  Response send(Request request, ClientOptions options = {}) {
    Client& one = client(std::move(options));
    return loop_.run(one.send(std::move(request)));
  }

  HttpError::Kind failure(Request request, ClientOptions options = {}) {
    try {
      send(std::move(request), std::move(options));
    } catch (const HttpError& error) {
      return error.kind();
    }
    ADD_FAILURE() << "answered";
    return {};
  }

  // Why a server with an untrusted certificate is refused, once it is ready: connections that are
  // refused before prove nothing.
  std::string certificate_refusal(Client& one, const Request& request) {
    std::string refusal;
    for (int i = 0; i < 20 && !refusal.contains("certificate"); ++i) {
      try {
        loop_.run(one.send(request));
      } catch (const HttpError& error) {
        refusal = error.what();
      }
    }
    return refusal;
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  HttpServer server_;
  std::deque<std::string> answers_{answer(200, "yes")};
  async::Event* hold_ = nullptr;
  std::optional<Client> client_;
  std::string log_;
  std::vector<int> statuses_;
};

TEST_F(HttpClientTest, a_request_arrives_and_its_answer_comes_back) {
  answers_ = {answer(201, "{\"id\": 7}", "X-Request-Id: r1\r\n")};
  const Response response = send({.method = "POST",
                                  .url = server_.url() + "/servers?all=1",
                                  .headers = {{"X-Auth-Token", "secret"}, {"X-Empty", ""}},
                                  .body = "{}",
                                  .name = "create"});
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, "{\"id\": 7}");
  EXPECT_EQ(response.header("x-request-id"), "r1");
  ASSERT_THAT(server_.calls(), SizeIs(1));
  const HttpServer::Call& call = server_.calls()[0];
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.target, "/servers?all=1");
  EXPECT_EQ(call.body, "{}");
  EXPECT_THAT(call.headers,
              testing::Contains(std::pair<std::string, std::string>("x-auth-token", "secret")));
}

TEST_F(HttpClientTest, secrets_are_not_logged) {
  send({.url = "http://hush:hush@" + server_.url().substr(7) + "/a?signature=hush",
        .headers = {{"X-Auth-Token", "hush"}},
        .body = {},
        .name = "get a"});
  EXPECT_THAT(log_, HasSubstr("get a: GET " + server_.url() + "/a -> 200"));
  EXPECT_THAT(log_, Not(HasSubstr("hush")));
}

TEST_F(HttpClientTest, errors_have_no_secrets) {
  std::string error;
  try {
    send({.url = "http://hush:hush@127.0.0.1:1/a?signature=hush", .name = "get a"},
         {.attempts = 1});
  } catch (const HttpError& thrown) {
    error = thrown.what();
  }
  EXPECT_THAT(error, testing::StartsWith("GET http://127.0.0.1:1/a: "));
  EXPECT_THAT(error + log_, Not(HasSubstr("hush")));
}

// Records all calls as text.
class Listener final : public async::CallTracer {
 public:
  void called(const Call& call) override {
    calls +=
        fmt::format("{}|{}|{}|{}|{}\n", call.name, call.method, call.path, call.status, call.id);
  }
  std::string calls;
};

TEST_F(HttpClientTest, the_call_tracer_gets_each_attempt_and_no_secret) {
  answers_ = {answer(503, "hush", "X-Compute-Request-Id: req-1\r\nRetry-After: 0\r\n"),
              answer(200, "hush", "X-Openstack-Request-Id: req-hush\r\nX-Other: hush\r\n"),
              answer(200, "hush", "X-Request-Id: no id: <b>\r\n")};
  const auto listener = std::make_shared<Listener>();
  const auto call = [](Client& client, std::string host,
                       std::shared_ptr<async::CallTracer> tracer) -> Task<> {
    async::set_tracer(co_await boost::asio::this_coro::executor, tracer);
    Request request{.url = "http://hush:hush@" + host + "/a/hush/b?signature=hush#hush",
                    .headers = {{"X-Auth-Token", "hush"}},
                    .body = "hush",
                    .secrets = {"hush"},
                    .name = "get b"};
    co_await client.send(request);
    co_await client.send(std::move(request));
    Request lost{
        .url = "http://127.0.0.1:1/x", .name = "lost", .deadline = std::chrono::seconds(1)};
    Task<Response> losing = client.send(std::move(lost));
    try {
      co_await std::move(losing);
    } catch (const HttpError&) {
    }
  };
  async::TaskScope scope(runtime_, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  Client& one = client(
      {.attempts = 2,
       .request_id_headers = {"x-openstack-request-id", "x-compute-request-id", "x-request-id"}});
  scope.spawn("call", call(one, server_.url().substr(7), listener));
  loop_.run(scope.join());
  EXPECT_THAT(listener->calls, testing::StartsWith("get b|GET|/a/***/b|503|req-1\n"
                                                   "get b|GET|/a/***/b|200|req-***\n"
                                                   "get b|GET|/a/***/b|200|\n"
                                                   "lost|GET|/x|0|\n"));
  EXPECT_THAT(listener->calls, Not(HasSubstr("hush")));
}

TEST_F(HttpClientTest, connections_are_used_again) {
  Client& one = client();
  for (int i = 0; i < 5; ++i) loop_.run(one.send({.url = server_.url()}));
  EXPECT_EQ(server_.connections(), 1);
  EXPECT_THAT(server_.calls(), SizeIs(5));
}

TEST_F(HttpClientTest, a_connection_whose_server_is_gone_ends_soon) {
  send({.url = server_.url()});
  EXPECT_THAT(socket_options(server_, IPPROTO_TCP, TCP_USER_TIMEOUT), ElementsAre(20'000));
  EXPECT_THAT(socket_options(server_, SOL_SOCKET, SO_KEEPALIVE), ElementsAre(1));
  EXPECT_THAT(socket_options(server_, IPPROTO_TCP, TCP_KEEPIDLE), ElementsAre(20));
  EXPECT_THAT(socket_options(server_, IPPROTO_TCP, TCP_KEEPINTVL), ElementsAre(20));
}

TEST_F(HttpClientTest, calls_go_side_by_side) {
  async::Event hold;
  hold_ = &hold;
  Client& one = client();
  async::TaskScope scope(runtime_, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  int answered = 0;
  const auto call = [](Client& client, std::string url, int& answered) -> Task<> {
    co_await client.send({.url = std::move(url)});
    ++answered;
  };
  for (int i = 0; i < 3; ++i) scope.spawn("call", call(one, server_.url(), answered));
  while (server_.calls().size() < 3) loop_.run(clock_.sleep_for(std::chrono::milliseconds(1)));
  EXPECT_EQ(answered, 0);
  hold_ = nullptr;
  hold.set();
  loop_.run(scope.join());
  EXPECT_EQ(answered, 3);
}

TEST_F(HttpClientTest, idempotent_requests_are_retried) {
  answers_ = {"", answer(503, "busy"), answer(200, "at last")};
  EXPECT_EQ(send({.url = server_.url()}).body, "at last");
  EXPECT_THAT(statuses_, ElementsAre(0, 503, 200));
}

TEST_F(HttpClientTest, other_requests_are_not_retried) {
  answers_ = {answer(503, "busy"), answer(200, "twice")};
  EXPECT_EQ(send({.method = "POST", .url = server_.url()}).status, 503);
  answers_ = {answer(200, "once"), "", answer(200, "twice")};
  Client& one = client();
  EXPECT_EQ(loop_.run(one.send({.method = "POST", .url = server_.url()})).body, "once");
  try {
    loop_.run(one.send({.method = "POST", .url = server_.url()}));
    ADD_FAILURE() << "sent again on the same connection";
  } catch (const HttpError& error) {
    EXPECT_EQ(error.kind(), HttpError::Kind::unknown_outcome);
  }
}

TEST_F(HttpClientTest, a_rate_limit_response_is_obeyed_for_any_request) {
  answers_ = {answer(429, "slow down", "Retry-After: 1\r\n"), answer(200, "now")};
  const auto start = clock_.now();
  EXPECT_EQ(send({.method = "POST", .url = server_.url()}).body, "now");
  EXPECT_GE(clock_.now() - start, std::chrono::seconds(1));
}

TEST_F(HttpClientTest, the_last_answer_counts_when_attempts_are_used_up) {
  answers_ = {answer(500, "broken")};
  EXPECT_EQ(send({.url = server_.url()}, {.attempts = 2}).status, 500);
  EXPECT_THAT(server_.calls(), SizeIs(2));
}

TEST_F(HttpClientTest, a_failed_connection_means_not_sent) {
  EXPECT_EQ(failure({.method = "POST", .url = "http://127.0.0.1:1/"}, {.attempts = 1}),
            HttpError::Kind::not_sent);
  EXPECT_EQ(failure({.url = "gopher://127.0.0.1/"}), HttpError::Kind::invalid);
  EXPECT_EQ(failure({.url = server_.url(), .headers = {{"A", "b\r\nC: d"}}}),
            HttpError::Kind::invalid);
}

TEST_F(HttpClientTest, an_answer_that_is_too_large_is_refused) {
  answers_ = {answer(200, std::string(5000, 'x'))};
  EXPECT_EQ(failure({.url = server_.url()}, {.transfers = {.largest_body = 1000}}),
            HttpError::Kind::too_large);
  answers_ = {answer(200, "", "X: " + std::string(5000, 'x') + "\r\n")};
  EXPECT_EQ(failure({.url = server_.url()}, {.transfers = {.largest_headers = 1000}}),
            HttpError::Kind::too_large);
}

TEST_F(HttpClientTest, a_body_can_be_taken_as_it_comes) {
  std::string taken;
  const auto take = [&taken](std::string_view part) { taken += part; };
  const Response response = send({.url = server_.url(), .on_body = take});
  EXPECT_EQ(taken, "yes");
  EXPECT_EQ(response.body, "");
  answers_ = {answer(403, "no")};
  EXPECT_EQ(send({.url = server_.url(), .on_body = take}).body, "no") << "why it was refused";
  EXPECT_EQ(taken, "yes");
}

TEST_F(HttpClientTest, a_redirection_is_an_answer_and_leads_nowhere) {
  HttpServer other(runtime_, [](const HttpServer::Call&) -> Task<std::string> {
    co_return answer(200, "yours");
  });
  for (const int status : {301, 302, 303, 307, 308}) {
    answers_ = {answer(status, "", "Location: " + other.url() + "/elsewhere\r\n")};
    const Response response = send({.url = server_.url(), .headers = {{"X-Auth-Token", "t"}}});
    EXPECT_EQ(response.status, status);
  }
  EXPECT_THAT(other.calls(), SizeIs(0)) << "no other server gets the token";
  EXPECT_THAT(server_.calls(), SizeIs(5));
  loop_.run(other.stop());
}

TEST_F(HttpClientTest, an_answer_that_never_ends_is_given_up_at_the_deadline) {
  for (const char* begin : {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx",
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
                            "HTTP/1.1 200 OK\r\nX-Header: ", "HTTP/1.1 100 Continue\r\n\r\n"}) {
    answers_ = {begin};
    Request request{.url = server_.url(), .deadline = std::chrono::milliseconds(100)};
    EXPECT_EQ(failure(std::move(request), {.attempts = 1}), HttpError::Kind::unknown_outcome)
        << begin;
  }
}

TEST_F(HttpClientTest, a_server_that_does_not_answer_is_given_up_at_the_deadline) {
  async::Event never;
  hold_ = &never;
  EXPECT_EQ(failure({.url = server_.url(), .deadline = std::chrono::milliseconds(100)}),
            HttpError::Kind::unknown_outcome);
}

TEST_F(HttpClientTest, a_cancelled_read_ends_at_once_and_a_change_completes) {
  constexpr int kCancelled = -1;
  async::Event hold;
  hold_ = &hold;
  Client& one = client();
  async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
  int got = 0;
  const auto call = [](Client& client, std::string method, std::string url, int& got) -> Task<> {
    try {
      const Response response = co_await client.send({.method = method, .url = std::move(url)});
      got = response.status;
    } catch (const async::Cancelled&) {
      got = kCancelled;
      throw;
    }
  };
  int question = 0;
  scope.spawn("question", call(one, "GET", server_.url(), question));
  scope.spawn("change", call(one, "POST", server_.url(), got));
  while (server_.calls().size() < 2) loop_.run(clock_.sleep_for(std::chrono::milliseconds(1)));
  scope.cancel();
  while (question == 0) loop_.run(clock_.sleep_for(std::chrono::milliseconds(1)));
  hold_ = nullptr;
  hold.set();
  loop_.run(scope.join());
  EXPECT_EQ(question, kCancelled);
  EXPECT_EQ(got, 200);
}

class HttpFileBodyTest : public HttpClientTest {
 protected:
  HttpFileBodyTest() {
    for (int i = 0; content_.size() < (std::size_t{5} << 19); ++i) content_ += std::to_string(i);
    path_ = directory_.write("image", content_);
  }

  Request upload() {
    return {.method = "PUT",
            .url = server_.url(),
            .streamed_body = loop_.run(file_body(threads_, path_)),
            .name = "upload"};
  }

  async::ThreadPool threads_{1, "test"};
  test_support::TemporaryDirectory directory_;
  std::string content_;
  std::string path_;
};

TEST_F(HttpFileBodyTest, a_file_is_sent_as_it_is_read) {
  EXPECT_EQ(send(upload()).status, 200);
  ASSERT_THAT(server_.calls(), SizeIs(1));
  EXPECT_EQ(server_.calls()[0].method, "PUT");
  EXPECT_TRUE(server_.calls()[0].body == content_);
}

TEST_F(HttpFileBodyTest, it_is_sent_from_the_start_when_it_is_sent_again) {
  answers_ = {answer(503, "busy"), answer(200, "taken")};
  EXPECT_EQ(send(upload()).body, "taken");
  ASSERT_THAT(server_.calls(), SizeIs(2));
  EXPECT_TRUE(server_.calls()[1].body == content_);
}

TEST_F(HttpFileBodyTest, a_server_may_pause_an_upload) {
  Request request = upload();
  std::vector<int> limits;
  request.streamed_body = std::make_shared<StreamedBody>(
      StreamedBody{.size = content_.size(),
                   .read = [this, &limits, file = request.streamed_body](std::uint64_t offset,
                                                                         std::size_t most) {
                     limits = socket_options(server_, IPPROTO_TCP, TCP_USER_TIMEOUT);
                     return file->read(offset, most);
                   }});
  Client& one = client();
  loop_.run(one.send({.url = server_.url()}));
  loop_.run(one.send(std::move(request)));
  EXPECT_THAT(limits, testing::UnorderedElementsAre(20'000, 0));
  EXPECT_THAT(socket_options(server_, IPPROTO_TCP, TCP_USER_TIMEOUT), ElementsAre(20'000));
}

// The body is longer on the way than its deadline.
TEST_F(HttpFileBodyTest, an_upload_on_a_slow_line_ends_by_itself) {
  Request request = upload();
  request.deadline = std::chrono::milliseconds(50);
  const auto read_slowly = [](async::Clock& clock, std::shared_ptr<const StreamedBody> file,
                              std::uint64_t offset, std::size_t most) -> Task<std::string> {
    co_await clock.sleep_for(std::chrono::milliseconds(50));
    co_return co_await file->read(offset, most);
  };
  request.streamed_body = std::make_shared<StreamedBody>(
      StreamedBody{.size = content_.size(),
                   .read = [this, read_slowly, file = request.streamed_body](std::uint64_t offset,
                                                                             std::size_t most) {
                     return read_slowly(clock_, file, offset, most);
                   }});
  Client& one = client();
  EXPECT_EQ(loop_.run(one.send_once(std::move(request))).status, 200);
  ASSERT_THAT(server_.calls(), SizeIs(1));
  EXPECT_TRUE(server_.calls()[0].body == content_);
}

TEST_F(HttpFileBodyTest, an_upload_without_progress_is_given_up) {
  directory_.write("image", "");
  async::Event never;
  hold_ = &never;
  Request request = upload();
  request.deadline = std::chrono::milliseconds(50);
  EXPECT_EQ(failure(std::move(request), {.attempts = 1}), HttpError::Kind::unknown_outcome);
}

TEST_F(HttpFileBodyTest, an_empty_file_is_an_empty_body) {
  directory_.write("image", "");
  EXPECT_EQ(send(upload()).status, 200);
  EXPECT_EQ(server_.calls()[0].body, "");
}

TEST_F(HttpFileBodyTest, a_file_that_cannot_be_read_ends_the_call) {
  Request request = upload();
  std::filesystem::resize_file(path_, content_.size() / 2);
  EXPECT_EQ(failure(std::move(request)), HttpError::Kind::invalid);
  EXPECT_THROW(loop_.run(file_body(threads_, path_ + ".missing")), std::system_error);
}

TEST(RateGovernorTest, calls_are_spaced_and_a_pause_holds_all_of_them) {
  async::EventLoop loop;
  async::VirtualClock clock;
  async::Random random(1);
  const async::Runtime runtime{loop.executor(), clock, random};
  RateGovernor governor(clock, 2);
  async::TaskScope scope(runtime, [](const std::string&, const std::string&) {});
  std::vector<double> turns;
  const auto start = clock.now();
  const auto call = [start](RateGovernor& governor, async::VirtualClock& clock,
                            std::vector<double>& turns) -> Task<> {
    const auto begin = start;
    co_await governor.turn(Precedence::read);
    turns.push_back(std::chrono::duration<double>(clock.now() - begin).count());
  };
  for (int i = 0; i < 3; ++i) scope.spawn("call", call(governor, clock, turns));
  loop.poll();
  governor.pause_until(start + std::chrono::seconds(5));
  while (turns.size() < 3) {
    clock.advance_to(clock.next_wakeup());
    loop.poll();
  }
  EXPECT_EQ(turns.front(), 0);
  EXPECT_GE(turns[1], 5);
  EXPECT_GE(turns[2], turns[1]);
}

// Calls of one endpoint at a rate of one a second.
class PrecedenceTest : public testing::Test {
 protected:
  ~PrecedenceTest() override { loop_.run(scope_.stop()); }

  void call(const std::string& name, Precedence precedence) {
    scope_.spawn(name, in_turn(name, precedence));
    loop_.poll();
  }

  // Returns the calls that have had their turn until then, in order.
  std::vector<std::string> after(async::Duration time) {
    test_support::pass(clock_, time, [this] { loop_.poll(); });
    return turns_;
  }

  Task<> in_turn(std::string name, Precedence precedence) {
    co_await governor_.turn(precedence);
    turns_.push_back(std::move(name));
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  RateGovernor governor_{clock_, 1};
  std::vector<std::string> turns_;
  async::TaskScope scope_{{loop_.executor(), clock_, random_},
                          [](const std::string&, const std::string&) {}};
};

TEST_F(PrecedenceTest, deletions_precede_creations_and_creations_precede_reads) {
  call("first", Precedence::read);
  call("look", Precedence::read);
  call("another look", Precedence::read);
  call("make", Precedence::creation);
  call("delete", Precedence::removal);
  EXPECT_THAT(after(std::chrono::seconds(2)), ElementsAre("first", "delete", "make"));
  call("late delete", Precedence::removal);
  EXPECT_THAT(after(std::chrono::seconds(10)),
              ElementsAre("first", "delete", "make", "late delete", "look", "another look"));
}

TEST_F(PrecedenceTest, a_read_gets_its_turn_among_many_creations) {
  call("first", Precedence::creation);
  call("look", Precedence::read);
  for (int i = 0; i < 100; ++i) call("make", Precedence::creation);
  const auto turns = after(std::chrono::seconds(60));
  EXPECT_EQ(std::ranges::find(turns, "look") - turns.begin(), 51);
}

// For example deletions that are refused and repeated.
TEST_F(PrecedenceTest, a_creation_gets_its_turn_among_many_deletions) {
  call("first", Precedence::removal);
  call("make", Precedence::creation);
  call("make another", Precedence::creation);
  for (int i = 0; i < 30; ++i) call("delete", Precedence::removal);
  const auto turns = after(std::chrono::seconds(60));
  EXPECT_EQ(std::ranges::find(turns, "make") - turns.begin(), 11);
  EXPECT_EQ(std::ranges::find(turns, "make another") - turns.begin(), 22);
}

TEST_F(PrecedenceTest, a_cancelled_call_leaves_the_queue) {
  call("first", Precedence::read);
  call("second", Precedence::read);
  async::TaskScope other({loop_.executor(), clock_, random_},
                         [](const std::string&, const std::string&) {});
  other.spawn("gone", in_turn("gone", Precedence::removal));
  loop_.poll();
  loop_.run(other.stop());
  EXPECT_THAT(after(std::chrono::seconds(1)), ElementsAre("first", "second"));
}

TEST(RetryAfterTest, seconds_and_dates_are_understood_within_bounds) {
  using std::chrono::seconds;
  EXPECT_EQ(retry_after("7", 0), seconds(7));
  EXPECT_EQ(retry_after("Fri, 31 Dec 1999 23:59:59 GMT", 946684779), seconds(20));
  EXPECT_EQ(retry_after("Fri, 31 Dec 1999 23:59:59 GMT", 946684900), seconds(0));
  EXPECT_EQ(retry_after("999999999", 0), seconds(300));
  EXPECT_EQ(retry_after("soon", 0), std::nullopt);
  EXPECT_EQ(retry_after("", 0), std::nullopt);
}

// With quadratic time this would exceed the timeout of the suite.
TEST(WithoutSecretsTest, a_server_may_repeat_a_secret_very_often) {
  std::string text;
  for (int i = 0; i < 2'000'000; ++i) text += "secret,";
  EXPECT_EQ(without_secrets(text, {"secret"}).size(), 8'000'000U);
}

TEST(WithoutSecretsTest, a_secret_is_found_as_it_is_and_as_json_has_it) {
  const std::vector<std::string> secrets = {"to\"ken", "", "pass"};
  EXPECT_EQ(without_secrets(R"(to"ken {"a": "to\"ken", "b": "bypass"} pass)", secrets),
            R"(*** {"a": "***", "b": "by***"} ***)");
}

// --- TLS

// A key and its self-signed certificate, in one file.
std::string make_authority(const test_support::TemporaryDirectory& directory,
                           const std::string& name) {
  const std::string path = directory.path() / name;
  test_support::Child openssl({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                               "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                               "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                               path, "-out", path + ".crt"});
  EXPECT_EQ(openssl.wait(), 0) << openssl.standard_error();
  return path;
}

// Adds it to a directory of trusted ones.
void add_authority(const std::filesystem::path& trusted, const std::string& authority) {
  std::filesystem::copy_file(authority + ".crt", trusted / "authority.pem");
  test_support::Child rehash({"openssl", "rehash", trusted.string()});
  EXPECT_EQ(rehash.wait(), 0) << rehash.standard_error();
}

// Arguments of openssl: serve a page with this certificate.
std::vector<std::string> tls_server(const std::string& certificate, std::uint16_t port) {
  const std::string address = "127.0.0.1:" + std::to_string(port);
  return {"openssl", "s_server",           "-quiet", "-www",     "-accept", address,
          "-cert",   certificate + ".crt", "-key",   certificate};
}

TEST_F(HttpClientTest, an_authority_that_is_replaced_counts_at_once) {
  const test_support::TemporaryDirectory directory;
  const std::string old = make_authority(directory, "old");
  const std::string present = make_authority(directory, "present");
  const std::uint16_t port = test_support::free_port();
  const test_support::Child server(tls_server(present, port));
  const std::filesystem::path trusted = directory.path() / "ca.pem";
  std::filesystem::copy_file(old + ".crt", trusted);
  Client& one = client({.transfers = {.ca_file = trusted}});
  const Request request{.url = "https://127.0.0.1:" + std::to_string(port) + "/", .name = "get"};
  ASSERT_THAT(certificate_refusal(one, request), HasSubstr("certificate"));
  std::filesystem::copy_file(present + ".crt", trusted,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(loop_.run(one.send(request)).status, 200);
  EXPECT_EQ(failure(request, {.transfers = {.ca_file = old + ".crt"}, .attempts = 1}),
            HttpError::Kind::not_sent);
  try {
    send(request, {.transfers = {.ca_file = old + ".crt"}});
    ADD_FAILURE() << "it is not trusted";
  } catch (const HttpError& error) {
    EXPECT_TRUE(error.is_untrusted());
  }
  EXPECT_EQ(send(request, {.transfers = {.ca_file = old + ".crt", .verify = false}}).status, 200)
      << "only where an operator says so";
}

TEST_F(HttpClientTest, authorities_may_be_in_a_directory) {
  const test_support::TemporaryDirectory directory;
  const std::string authority = make_authority(directory, "authority");
  const std::uint16_t port = test_support::free_port();
  const test_support::Child server(tls_server(authority, port));
  const std::filesystem::path trusted = directory.path() / "trusted";
  std::filesystem::create_directory(trusted);
  Client& one = client({.transfers = {.ca_file = trusted}});
  const Request request{.url = "https://127.0.0.1:" + std::to_string(port) + "/", .name = "get"};
  ASSERT_THAT(certificate_refusal(one, request), HasSubstr("certificate problem"));
  add_authority(trusted, authority);
  EXPECT_EQ(loop_.run(one.send(request)).status, 200);
}

TEST_F(HttpClientTest, a_proxy_with_tls_is_verified_like_a_server) {
  const test_support::TemporaryDirectory directory;
  const std::string authority = make_authority(directory, "authority");
  const std::string other = make_authority(directory, "other");
  const std::uint16_t port = test_support::free_port();
  const test_support::Child proxy(tls_server(authority, port));
  const std::string proxy_url = "https://127.0.0.1:" + std::to_string(port);
  const Request request{.url = "http://cloud.invalid/", .name = "get"};
  Client& one = client({.transfers = {.ca_file = other + ".crt", .proxy = proxy_url}});
  ASSERT_THAT(certificate_refusal(one, request), HasSubstr("certificate"));
  const auto status = [&](TransferOptions transfers) {
    transfers.proxy = proxy_url;
    return send(request, {.transfers = std::move(transfers)}).status;
  };
  EXPECT_EQ(status({.ca_file = authority + ".crt"}), 200);
  EXPECT_EQ(status({.ca_pem = test_support::read_file(authority + ".crt")}), 200);
  EXPECT_EQ(status({.ca_file = other + ".crt", .verify = false}), 200);
  const std::filesystem::path trusted = directory.path() / "trusted";
  std::filesystem::create_directory(trusted);
  add_authority(trusted, authority);
  EXPECT_EQ(status({.ca_file = trusted}), 200);
}

// Requires a client certificate, answers with its name, and keeps connections open. Arguments: the
// port, its own certificate, another one that it accepts.
constexpr char kCertificateServer[] = R"(
import http.server, ssl, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        subject = dict(part[0] for part in self.connection.getpeercert()["subject"])
        body = subject["commonName"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2] + ".crt", sys.argv[2])
context.verify_mode = ssl.CERT_REQUIRED
for certificate in sys.argv[2:]:
    context.load_verify_locations(certificate + ".crt")
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
print("ready", file=sys.stderr, flush=True)
server.serve_forever()
)";

TEST_F(HttpClientTest, a_client_certificate_that_is_replaced_counts_at_once) {
  const test_support::TemporaryDirectory directory;
  const std::string old = make_authority(directory, "old");
  const std::string present = make_authority(directory, "present");
  const std::string port = std::to_string(test_support::free_port());
  test_support::Child server({"python3", "-c", kCertificateServer, port, old, present});
  ASSERT_TRUE(server.error_output_shows("ready", test_support::kPatience))
      << server.standard_error();
  const std::filesystem::path used = directory.path() / "used";
  const auto use = [&used](const std::string& name) {
    constexpr auto kOverwrite = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(name + ".crt", used.string() + ".crt", kOverwrite);
    std::filesystem::copy_file(name, used, kOverwrite);
  };
  use(old);
  const TransferOptions transfers{
      .ca_file = old + ".crt", .client_cert = used.string() + ".crt", .client_key = used};
  Client& one = client({.transfers = transfers});
  const Request request{.url = "https://127.0.0.1:" + port + "/", .name = "get"};
  EXPECT_EQ(loop_.run(one.send(request)).body, "old");
  use(present);
  EXPECT_EQ(loop_.run(one.send(request)).body, "present");
  std::filesystem::remove(used.string() + ".crt");
  EXPECT_EQ(failure(request, {.transfers = transfers, .attempts = 1}), HttpError::Kind::not_sent);
}

}  // namespace
}  // namespace nodepool::http
