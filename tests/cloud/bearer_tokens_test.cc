#include "cloud/rest/bearer_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "async/clock.h"
#include "async/event_loop.h"
#include "async/random.h"
#include "driver/cloud_error.h"
#include "tests/cloud/hurried_clock.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::cloud {
namespace {

using driver::CloudError;
using Kind = CloudError::Kind;

// Asks a service with a secret, or has the only token there is.
class Tokens final : public BearerTokens {
 public:
  Tokens(const async::Runtime& runtime, std::string url, std::string only = {})
      : BearerTokens(
            runtime, {.name = "token", .call = "test: get token", .hint = " (start it)"},
            telemetry::Logger(telemetry::Log::to_consumer([](auto, auto, auto) {}), "test"),
            http::Client::Observer()),
        url_(std::move(url)),
        only_(std::move(only)) {}

 private:
  async::Task<Token> ask() override {
    if (!only_.empty()) co_return Token{.text = only_, .life = {}};
    http::Request request = form(url_, {{"key", "SECRET&"}, {"kind", "test"}});
    request.secrets = {"SECRET&"};
    co_return co_await request_token(std::move(request));
  }

  std::string url_;
  std::string only_;
};

class BearerTokensTest : public testing::Test {
 protected:
  ~BearerTokensTest() override {
    if (tokens_) loop_.run(tokens_->stop());
    loop_.run(server_.stop());
  }

  async::Task<std::string> serve(const http::HttpServer::Call& /*call*/) {
    co_return status_ == 0 ? std::string() : http::answer(status_, body_);
  }

  Tokens& tokens(const std::string& only = {}) {
    tokens_ = std::make_unique<Tokens>(runtime_, server_.url() + "/token", only);
    return *tokens_;
  }

  std::string error(Kind kind = Kind::auth) {
    try {
      loop_.run(tokens().get());
    } catch (const CloudError& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.what();
    }
    return "none";
  }

  async::EventLoop loop_;
  HurriedClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  http::HttpServer server_{runtime_,
                           [this](const http::HttpServer::Call& call) { return serve(call); }};
  int status_ = 200;  // 0: the connection is closed
  std::string body_ = R"({"access_token": "TOKEN", "expires_in": 3600})";
  std::unique_ptr<Tokens> tokens_;
};

TEST_F(BearerTokensTest, calls_have_the_token_until_it_is_rejected) {
  Tokens& tokens = this->tokens();
  http::Request first;
  const RestOptions::Reject reject = loop_.run(tokens.authorize(first));
  EXPECT_THAT(first.headers, testing::ElementsAre(testing::Pair("Authorization", "Bearer TOKEN")));
  EXPECT_THAT(first.secrets, testing::ElementsAre("TOKEN"));
  EXPECT_EQ(server_.calls().at(0).body, "key=SECRET%26&kind=test");
  body_ = R"({"access_token": "NEXT", "expires_in": "3600"})";
  http::Request second;
  loop_.run(tokens.authorize(second));
  EXPECT_EQ(second.secrets.at(0), "TOKEN");
  reject();
  http::Request third;
  loop_.run(tokens.authorize(third));
  EXPECT_EQ(third.secrets.at(0), "NEXT");
  EXPECT_EQ(server_.calls().size(), 2U);
}

TEST_F(BearerTokensTest, the_only_token_cannot_be_rejected) {
  http::Request request;
  EXPECT_FALSE(loop_.run(tokens("ONLY").authorize(request)));
  EXPECT_EQ(request.secrets.at(0), "ONLY");
}

TEST_F(BearerTokensTest, an_error_says_what_the_service_says_without_secrets) {
  status_ = 400;
  body_ = R"({"error": "invalid_client", "error_description": "SECRET& is\nwrong"})";
  EXPECT_EQ(error(), "test: get token: HTTP 400 invalid_client: *** is wrong");
  body_ = R"({"error": {"message": "no such account"}})";
  EXPECT_EQ(error(), "test: get token: HTTP 400 no such account");
  body_ = "<html>";
  EXPECT_EQ(error(), "test: get token: HTTP 400 ");
}

TEST_F(BearerTokensTest, an_outage_of_the_service_says_nothing_about_the_credentials) {
  status_ = 0;
  EXPECT_THAT(error(Kind::transient), testing::EndsWith(" (start it)"));
  for (const int status : {429, 500, 501, 503}) {
    status_ = status;
    EXPECT_THAT(error(Kind::transient), testing::HasSubstr("HTTP " + std::to_string(status)));
  }
}

TEST_F(BearerTokensTest, an_error_has_nothing_of_a_response_with_a_token) {
  for (const char* body :
       {R"({"access_token": "TOKEN"})", R"({"expires_in": 1, "token": "TOKEN"})", "TOKEN"}) {
    body_ = body;
    const std::string text = error();
    EXPECT_THAT(text, testing::StartsWith("test: get token: the response"));
    EXPECT_THAT(text, Not(testing::HasSubstr("TOKEN")));
  }
}

TEST_F(BearerTokensTest, a_call_that_cannot_be_sent_has_a_hint) {
  tokens_ = std::make_unique<Tokens>(runtime_, "nothing://host/");
  try {
    loop_.run(tokens_->get());
    ADD_FAILURE();
  } catch (const CloudError& error) {
    EXPECT_EQ(error.kind(), Kind::auth);
    EXPECT_THAT(error.what(), testing::StartsWith("test: get token: "));
    EXPECT_THAT(error.what(), testing::EndsWith(" (start it)"));
  }
}

TEST(TokenFileTest, ends_without_a_newline) {
  const test_support::TemporaryDirectory directory;
  EXPECT_EQ(read_token_file(directory.write("token", "a\nb\n\n")), "a\nb");
  EXPECT_EQ(read_token_file(directory.write("long", std::string(3 << 20, 'a'))).size(), 1U << 20);
  const std::string empty = directory.write("empty", "\n");
  for (const std::string& path : {empty, std::string("/nowhere")}) {
    try {
      read_token_file(path);
      ADD_FAILURE() << path;
    } catch (const CloudError& error) {
      EXPECT_EQ(error.kind(), Kind::auth);
      EXPECT_EQ(error.what(), path + ": cannot be read, or is empty");
    }
  }
}

}  // namespace
}  // namespace nodepool::cloud
