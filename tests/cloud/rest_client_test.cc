#include "cloud/rest/rest_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "async/call_tracer.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/task_scope.h"
#include "http/rate_governor.h"
#include "tests/cloud/hurried_clock.h"
#include "tests/support/http_server.h"

namespace nodepool::cloud {
namespace {

using async::Task;
using driver::CloudError;
using http::answer;
using testing::ElementsAre;
using testing::SizeIs;
using Kind = CloudError::Kind;
using Repeatable = http::Request::Repeatable;

// Records what it is told, and delays nothing.
class RecordingRateLimit final : public http::RateLimit {
 public:
  explicit RecordingRateLimit(async::Clock& clock) : clock_(clock) {}

  Task<> turn(http::Precedence precedence) override {
    precedences.push_back(precedence);
    co_return;
  }
  void pause_until(async::Clock::TimePoint when) override { pauses.push_back(when - clock_.now()); }
  void throttled(http::Precedence /*precedence*/) override { ++throttled_calls; }
  void accepted(http::Precedence /*precedence*/) override { ++accepted_calls; }

  std::vector<http::Precedence> precedences;
  std::vector<async::Duration> pauses;
  int throttled_calls = 0;
  int accepted_calls = 0;

 private:
  async::Clock& clock_;
};

// A server with the responses of a script; the last one is repeated. "": the connection is closed.
class RestClientTest : public testing::Test {
 protected:
  ~RestClientTest() override { loop_.run(server_.stop()); }

  RestOptions with_tokens() {
    return {.authorize = [this](http::Request& request) { return authorize(request); }};
  }

  RestCall look() const {
    return {.request = {.url = server_.url(), .name = "look at it"}, .about = "seven"};
  }
  RestCall creation(Repeatable repeatable = Repeatable::no) const {
    http::Request request{
        .method = "POST", .url = server_.url(), .name = "make it", .repeatable = repeatable};
    return {.request = std::move(request), .effect = Effect::creates};
  }

  CloudError error_of(RestCall call, RestOptions options = {}) {
    try {
      body_of(std::move(call), std::move(options));
    } catch (const CloudError& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return {Kind::failed, ""};
  }
  std::string body_of(RestCall call, RestOptions options = {}) {
    RestClient client(runtime_, http_, limit_, std::move(options), log_);
    return loop_.run(client.send(std::move(call))).body;
  }
  std::vector<std::string> tokens_sent() const {
    std::vector<std::string> tokens;
    for (const auto& call : server_.calls()) {
      for (const auto& [name, value] : call.headers) {
        if (name == "x-token") tokens.push_back(value);
      }
    }
    return tokens;
  }

  std::deque<std::string> answers_;
  bool is_silent_ = false;  // no response, ever
  int token_ = 1;
  int last_token_ = 9;  // after it, there are no others

 private:
  using Server = http::HttpServer;

  Task<std::string> serve(const Server::Call& /*call*/) {
    async::Event never("a response");
    if (is_silent_) co_await never.wait();
    std::string next = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    co_return next;
  }

  Task<RestOptions::Reject> authorize(http::Request& request) {
    if (token_ > last_token_) throw CloudError(Kind::auth, "no token");
    const std::string token = "token" + std::to_string(token_);
    request.headers.emplace_back("X-Token", token);
    request.secrets.push_back(token);
    co_return [this] { ++token_; };
  }

 protected:
  async::EventLoop loop_;
  HurriedClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  Server server_{runtime_, [this](const Server::Call& call) { return serve(call); }};
  telemetry::Logger log_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {}),
      "test"};
  http::Client http_{runtime_, {}, log_};
  RecordingRateLimit limit_{clock_};
};

TEST_F(RestClientTest, a_success_is_returned) {
  answers_ = {answer(201, "made")};
  EXPECT_EQ(body_of(creation()), "made");
  EXPECT_THAT(limit_.precedences, ElementsAre(http::Precedence::creation));
  EXPECT_EQ(limit_.accepted_calls, 1);
  EXPECT_EQ(limit_.throttled_calls, 0);
}

TEST_F(RestClientTest, each_response_is_observed) {
  answers_ = {answer(503, "", "X-Left: 1\r\n"), answer(200, "", "X-Left: 0\r\n")};
  std::vector<std::string> left;
  RestOptions options{.observe = [&left](http::Precedence precedence, const http::Response& seen) {
    EXPECT_EQ(precedence, http::Precedence::read);
    left.emplace_back(seen.header("x-left"));
  }};
  body_of(look(), std::move(options));
  EXPECT_THAT(left, ElementsAre("1", "0"));
}

TEST_F(RestClientTest, a_refusal_names_call_object_and_status) {
  answers_ = {answer(404, R"({"itemNotFound": {"message": "no\nsuch thing"}})")};
  const CloudError error = error_of(look());
  EXPECT_STREQ(error.what(), "look at it seven: HTTP 404: no such thing");
  EXPECT_EQ(error.kind(), Kind::not_found);
  EXPECT_EQ(error.code(), "itemNotFound");
  EXPECT_THAT(server_.calls(), SizeIs(1));
}

TEST_F(RestClientTest, a_repeatable_call_is_retried_with_growing_pauses) {
  answers_ = {"", answer(503, ""), answer(500, ""), answer(200, "yes")};
  EXPECT_EQ(body_of(look()), "yes");
  ASSERT_THAT(clock_.pauses, SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    const auto longest = std::chrono::milliseconds(500) * (1 << i);
    EXPECT_LE(clock_.pauses[i], longest);
    EXPECT_GE(clock_.pauses[i], longest / 2 - std::chrono::milliseconds(10));
  }
  EXPECT_THAT(limit_.precedences, SizeIs(4)) << "each attempt has its turn";
}

TEST_F(RestClientTest, attempts_are_limited) {
  answers_ = {answer(503, "")};
  EXPECT_EQ(error_of(look()).kind(), Kind::transient);
  EXPECT_THAT(server_.calls(), SizeIs(4));
  EXPECT_EQ(error_of(look(), {.attempts = 1}).kind(), Kind::transient);
  EXPECT_THAT(server_.calls(), SizeIs(5));
}

TEST_F(RestClientTest, each_attempt_has_the_whole_deadline) {
  is_silent_ = true;
  RestCall call = look();
  call.request.deadline = std::chrono::milliseconds(50);
  EXPECT_EQ(error_of(std::move(call)).kind(), Kind::transient);
  EXPECT_THAT(server_.calls(), SizeIs(4));
}

TEST_F(RestClientTest, a_creation_without_response_is_repeated_only_if_that_makes_no_duplicate) {
  answers_ = {""};
  EXPECT_EQ(error_of(creation()).kind(), Kind::unknown_outcome);
  EXPECT_THAT(server_.calls(), SizeIs(1));
  EXPECT_EQ(error_of(creation(Repeatable::yes)).kind(), Kind::unknown_outcome);
  EXPECT_THAT(server_.calls(), SizeIs(3)) << "then the caller looks for it";
}

TEST_F(RestClientTest, a_server_error_leaves_the_outcome_of_a_creation_unknown) {
  answers_ = {answer(502, "")};
  EXPECT_EQ(error_of(creation()).kind(), Kind::unknown_outcome);
  EXPECT_THAT(server_.calls(), SizeIs(1));
  EXPECT_EQ(error_of(creation(Repeatable::yes)).kind(), Kind::unknown_outcome);
  EXPECT_THAT(server_.calls(), SizeIs(3));
}

TEST_F(RestClientTest, an_error_of_the_api_itself_is_told_from_an_outage) {
  answers_ = {answer(500, "")};
  EXPECT_TRUE(error_of(creation()).is_answer());
  EXPECT_TRUE(error_of(creation(Repeatable::yes)).is_answer());
  answers_ = {""};
  EXPECT_FALSE(error_of(creation()).is_answer());
  for (const std::string& outage : {answer(502, ""), answer(504, ""), answer(522, "")}) {
    answers_ = {outage, answer(500, "")};
    const CloudError error = error_of(creation(Repeatable::yes));
    EXPECT_EQ(error.kind(), Kind::unknown_outcome);
    EXPECT_FALSE(error.is_answer()) << "the first attempt got no response of the API";
  }
}

TEST_F(RestClientTest, a_later_refusal_leaves_an_unknown_outcome_unknown) {
  answers_ = {"", answer(400, R"({"message": "no"})")};
  const CloudError error = error_of(creation(Repeatable::yes));
  EXPECT_EQ(error.kind(), Kind::unknown_outcome);
  EXPECT_STREQ(error.what(), "make it: HTTP 400: no");
}

TEST_F(RestClientTest, a_throttled_creation_is_repeated) {
  answers_ = {answer(429, ""), answer(429, ""), answer(200, "made")};
  EXPECT_EQ(body_of(creation()), "made");
  EXPECT_EQ(limit_.throttled_calls, 2);
  EXPECT_EQ(limit_.accepted_calls, 1);
}

TEST_F(RestClientTest, a_creation_that_certainly_had_no_effect_is_repeated) {
  answers_ = {answer(409, ""), answer(200, "made")};
  const Classify classify = [](const http::Response& response, Effect effect) {
    Refusal refusal = refusal_by_status(response, effect);
    refusal.retry = true;
    refusal.had_no_effect = true;
    return refusal;
  };
  EXPECT_EQ(body_of(creation(), {.classify = classify}), "made");
  EXPECT_EQ(limit_.throttled_calls, 0);
}

TEST_F(RestClientTest, a_request_that_was_not_sent_is_repeated) {
  RestCall call = creation();
  call.request.url = "http://127.0.0.1:1/";
  EXPECT_EQ(error_of(std::move(call)).kind(), Kind::transient);
  EXPECT_THAT(clock_.pauses, SizeIs(3));
}

TEST_F(RestClientTest, the_requested_pause_delays_all_calls) {
  answers_ = {answer(429, "", "Retry-After: 20\r\n"), answer(200, "yes")};
  EXPECT_EQ(body_of(creation()), "yes");
  ASSERT_THAT(limit_.pauses, SizeIs(1));
  EXPECT_GE(limit_.pauses[0], std::chrono::milliseconds(19'900));
  ASSERT_THAT(clock_.pauses, SizeIs(1));
  EXPECT_GE(clock_.pauses[0], std::chrono::milliseconds(19'900));
}

TEST_F(RestClientTest, waiting_for_a_turn_takes_nothing_from_the_time_of_a_call) {
  answers_ = {answer(200, "yes")};
  async::SystemClock clock;
  const async::Runtime runtime{loop_.executor(), clock, random_};
  http::RateGovernor limit(clock, 4);
  RestClient client(runtime, http_, limit, {}, log_);
  async::TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  int answered = 0;
  const auto send = [](RestClient& client, RestCall call, int& answered) -> Task<> {
    co_await client.send(std::move(call));
    ++answered;
  };
  for (int i = 0; i < 4; ++i) {
    RestCall call = look();
    call.request.deadline = std::chrono::milliseconds(500);
    scope.spawn("call", send(client, std::move(call), answered));
  }
  loop_.run(scope.join());
  EXPECT_EQ(answered, 4);
}

// Notes the attempts, with how many turns and calls there were before.
struct AttemptTracer final : async::CallTracer {
  AttemptTracer(const RecordingRateLimit& limit, const http::HttpServer& server)
      : limit_(limit), server_(server) {}

  void sending(bool is_retry) override {
    attempts.emplace_back(is_retry, limit_.precedences.size(), server_.calls().size());
  }

  std::vector<std::tuple<bool, std::size_t, std::size_t>> attempts;

 private:
  const RecordingRateLimit& limit_;
  const http::HttpServer& server_;
};

TEST_F(RestClientTest, the_call_tracer_gets_each_attempt_after_its_turn_and_before_it_is_sent) {
  answers_ = {answer(503, ""), answer(200, "yes")};
  const auto tracer = std::make_shared<AttemptTracer>(limit_, server_);
  RestClient client(runtime_, http_, limit_, {}, log_);
  const auto send_two = [](RestClient& client, RestCall call,
                           std::shared_ptr<AttemptTracer> tracer) -> Task<> {
    async::set_tracer(co_await boost::asio::this_coro::executor, tracer);
    co_await client.send(call);
    co_await client.send(std::move(call));
  };
  async::TaskScope scope(runtime_, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  scope.spawn("calls", send_two(client, look(), tracer));
  loop_.run(scope.join());
  EXPECT_THAT(tracer->attempts, ElementsAre(std::tuple(false, 1, 0), std::tuple(true, 2, 1),
                                            std::tuple(false, 3, 2)));
}

TEST_F(RestClientTest, a_long_pause_is_left_to_the_caller) {
  answers_ = {answer(503, "", "Retry-After: 200\r\n")};
  EXPECT_EQ(error_of(look()).kind(), Kind::transient);
  EXPECT_THAT(server_.calls(), SizeIs(1));
  EXPECT_THAT(limit_.pauses, SizeIs(1)) << "other calls wait";
}

TEST_F(RestClientTest, each_attempt_is_authorized) {
  answers_ = {answer(503, ""), answer(200, "yes")};
  EXPECT_EQ(body_of(look(), with_tokens()), "yes");
  EXPECT_THAT(tokens_sent(), ElementsAre("token1", "token1"));
}

TEST_F(RestClientTest, rejected_credentials_are_renewed_once_and_at_once) {
  answers_ = {answer(401, ""), answer(200, "yes")};
  EXPECT_EQ(body_of(creation(), with_tokens()), "yes");
  EXPECT_THAT(tokens_sent(), ElementsAre("token1", "token2"));
  EXPECT_LT(clock_.passed, std::chrono::milliseconds(1));
  answers_ = {answer(401, "")};
  EXPECT_EQ(error_of(look(), with_tokens()).kind(), Kind::auth);
  EXPECT_THAT(tokens_sent(), ElementsAre("token1", "token2", "token2", "token3"));
  EXPECT_EQ(token_, 4) << "the next call gets others";
}

TEST_F(RestClientTest, without_credentials_none_are_renewed) {
  answers_ = {answer(401, "")};
  EXPECT_EQ(error_of(look()).kind(), Kind::auth);
  EXPECT_THAT(server_.calls(), SizeIs(1));
}

TEST_F(RestClientTest, there_is_no_call_without_its_credentials) {
  answers_ = {answer(401, "")};
  last_token_ = 1;
  EXPECT_STREQ(error_of(creation(), with_tokens()).what(), "no token");
  EXPECT_THAT(server_.calls(), SizeIs(1));
}

TEST_F(RestClientTest, errors_contain_no_secret) {
  answers_ = {answer(400, R"({"message": "token1 is no name"})")};
  EXPECT_STREQ(error_of(look(), with_tokens()).what(),
               "look at it seven: HTTP 400: *** is no name");
}

TEST(SendingDeadline, suffices_for_a_slow_line_that_calls_share) {
  using std::chrono::seconds;
  constexpr std::size_t kPart = std::size_t{4} << 20;
  EXPECT_EQ(deadline_to_send(0), seconds(60));
  EXPECT_EQ(deadline_to_send(kPart), seconds(60 + 64));
  EXPECT_EQ(deadline_to_send(kPart, 10), seconds(60 + 640));
}

struct StatusMeaning {
  int status;
  Effect effect;
  Kind kind;
  bool retry;
};

TEST(RefusalByStatus, is_the_meaning_of_the_status) {
  for (const StatusMeaning& expected : {
           StatusMeaning{400, Effect::none, Kind::failed, false},
           StatusMeaning{401, Effect::creates, Kind::auth, false},
           StatusMeaning{403, Effect::none, Kind::permanent, false},
           StatusMeaning{403, Effect::creates, Kind::failed, false},
           StatusMeaning{403, Effect::creates_named, Kind::failed, false},
           StatusMeaning{404, Effect::none, Kind::not_found, false},
           StatusMeaning{409, Effect::creates, Kind::failed, false},
           StatusMeaning{429, Effect::creates, Kind::transient, true},
           StatusMeaning{500, Effect::none, Kind::transient, true},
           StatusMeaning{501, Effect::none, Kind::transient, false},
           StatusMeaning{503, Effect::creates, Kind::unknown_outcome, true},
           StatusMeaning{503, Effect::creates_named, Kind::transient, true},
       }) {
    const Refusal refusal = refusal_by_status({.status = expected.status}, expected.effect);
    EXPECT_EQ(refusal.kind, expected.kind) << expected.status;
    EXPECT_EQ(refusal.retry, expected.retry) << expected.status;
    EXPECT_EQ(refusal.slow_down, expected.status == 429);
    EXPECT_EQ(refusal.renew_credentials, expected.status == 401);
    EXPECT_EQ(refusal.message, "HTTP " + std::to_string(expected.status));
  }
}

TEST(RefusalByStatus, names_where_a_redirection_leads_without_secrets) {
  const auto message = [](int status, const std::string& location) {
    const http::Response response{
        .status = status, .headers = {{"location", location}}, .body = "<html>moved</html>"};
    return refusal_by_status(response, Effect::none).message;
  };
  EXPECT_EQ(message(301, "https://a.example:5000/v3/auth/tokens"),
            "HTTP 301: redirection to https://a.example:5000/v3/auth/tokens is not followed");
  EXPECT_EQ(message(307, "https://me:secret@a.example/v3?token=secret#secret"),
            "HTTP 307: redirection to https://a.example/v3 is not followed");
  EXPECT_EQ(message(302, "https://a.example?next=//b@c/"),
            "HTTP 302: redirection to https://a.example is not followed");
  EXPECT_EQ(message(302, "/login?x=@"), "HTTP 302: redirection to /login is not followed");
  EXPECT_EQ(message(302, ""), "HTTP 302: <html>moved</html>");
  EXPECT_EQ(message(400, "https://a.example/"), "HTTP 400: <html>moved</html>");
}

TEST(RefusalByStatus, finds_code_and_message) {
  const auto found = [](const std::string& body) {
    const Refusal refusal =
        refusal_by_status({.status = 400, .headers = {}, .body = body}, Effect::none);
    return refusal.code + "|" + refusal.message;
  };
  EXPECT_EQ(found(R"({"message": "why", "reason": "Invalid"})"), "Invalid|HTTP 400: why");
  EXPECT_EQ(found(R"({"badRequest": {"message": "why", "code": 400}})"),
            "badRequest|HTTP 400: why");
  EXPECT_EQ(found(R"({"NeutronError": {"type": "OverQuota", "message": "why"}})"),
            "OverQuota|HTTP 400: why");
  EXPECT_EQ(found(R"({"a": 1})"), "|HTTP 400");
  EXPECT_EQ(found(R"(["a"])"), R"(|HTTP 400: ["a"])");
  EXPECT_EQ(found("<html>"), "|HTTP 400: <html>");
  EXPECT_EQ(found(""), "|HTTP 400");
}

}  // namespace
}  // namespace nodepool::cloud
