// How access tokens of Google are obtained.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "drivers/gce/api/access_tokens.h"
#include "drivers/gce/api/compute_engine.h"
#include "drivers/gce/api/subject_token.h"
#include "drivers/gce/pausing_rate_limit.h"
#include "tests/drivers/missing_authorities.h"
#include "tests/drivers/request_ids.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::gce {
namespace {

using driver::CloudError;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class GceTokensTest : public testing::Test {
 protected:
  ~GceTokensTest() override {
    if (tokens_) loop_.run(tokens_->stop());
    loop_.run(server_.stop());
  }

  async::Task<std::string> serve(const http::HttpServer::Call& /*call*/) {
    co_return http::answer(status_, body_, headers_);
  }

  AccessTokens& tokens(CredentialSource source) {
    source.token_url = server_.url() + source.token_url;
    account_.credentials = std::move(source);
    tokens_ = std::make_unique<AccessTokens>(runtime_, account_, log(), http::Client::Observer());
    return *tokens_;
  }

  telemetry::Logger log() {
    const auto log = telemetry::Log::to_consumer(
        [this](telemetry::LogLevel, std::string_view, std::string_view text) {
          logged_ += std::string(text) + "\n";
        });
    return {log, "test"};
  }

  std::string error_with(CredentialSource source) {
    try {
      loop_.run(tokens(std::move(source)).get());
    } catch (const CloudError& error) {
      EXPECT_EQ(error.kind(), CloudError::Kind::auth);
      return error.what();
    }
    return "none";
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  http::HttpServer server_{runtime_,
                           [this](const http::HttpServer::Call& call) { return serve(call); }};
  int status_ = 200;
  std::string body_ = R"({"access_token": "TOKEN", "expires_in": 3599, "token_type": "Bearer"})";
  std::string headers_;
  std::string logged_;
  Account account_;
  std::unique_ptr<AccessTokens> tokens_;
  test_support::TemporaryDirectory directory_;
};

TEST_F(GceTokensTest, the_metadata_server_has_one) {
  EXPECT_EQ(loop_.run(tokens({.token_url = "/computeMetadata/v1/token"}).get())->text, "TOKEN");
  loop_.run(tokens_->get());
  ASSERT_EQ(server_.calls().size(), 1U);
  const http::HttpServer::Call& call = server_.calls().front();
  EXPECT_EQ(call.method + " " + call.target, "GET /computeMetadata/v1/token");
  EXPECT_THAT(call.headers, testing::Contains(Pair("metadata-flavor", "Google")));
}

TEST_F(GceTokensTest, without_a_metadata_server_the_error_names_the_remedy) {
  status_ = 0;
  EXPECT_THAT(error_with({.token_url = "/computeMetadata/v1/token"}),
              HasSubstr("set GOOGLE_APPLICATION_CREDENTIALS"));
}

TEST_F(GceTokensTest, the_missing_permission_to_read_operations_is_reported_once) {
  account_.base_url = server_.url();
  PausingRateLimit rate_limit(clock_);
  AccessTokens& access = tokens({.token_url = "/token"});
  ComputeEngine compute(runtime_, account_, access, rate_limit, log(), {});
  loop_.run(access.get());
  status_ = 403;
  body_ = R"({"error": {"message": "no", "status": "PERMISSION_DENIED"}})";
  EXPECT_EQ(loop_.run(compute.operation("operation-1")), std::nullopt);
  EXPECT_THAT(logged_, HasSubstr("permission compute.zoneOperations.get"));
  logged_.clear();
  EXPECT_EQ(loop_.run(compute.operation("operation-2")), std::nullopt);
  EXPECT_THAT(logged_, Not(HasSubstr("compute.zoneOperations.get")));
}

TEST_F(GceTokensTest, a_user_has_one_for_a_refresh_token) {
  loop_.run(tokens({.kind = CredentialSource::Kind::authorized_user,
                    .token_url = "/token",
                    .client_id = "c",
                    .client_secret = "s&",
                    .refresh_token = "1//r"})
                .get());
  const http::HttpServer::Call& call = server_.calls().at(0);
  EXPECT_EQ(call.method + " " + call.target, "POST /token");
  EXPECT_EQ(call.body,
            "grant_type=refresh_token&client_id=c&client_secret=s%26&refresh_token=1%2F%2Fr");
}

TEST_F(GceTokensTest, an_external_account_has_one_for_the_token_in_its_file_at_that_time) {
  const CredentialSource source = {.kind = CredentialSource::Kind::external_account,
                                   .token_url = "/token",
                                   .audience = "//pool",
                                   .subject_token_type = "jwt",
                                   .subject_token = {.file = directory_.write("token", "first\n")}};
  const auto first = loop_.run(tokens(source).get());
  EXPECT_EQ(first->text, "TOKEN");
  EXPECT_EQ(server_.calls().at(0).body,
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
            "&audience=%2F%2Fpool&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcompute"
            "&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
            "&subject_token_type=jwt&subject_token=first");
  directory_.write("token", "second");
  tokens_->refused(first);
  loop_.run(tokens_->get());
  EXPECT_THAT(server_.calls().at(1).body, testing::EndsWith("&subject_token=second"));
}

TEST_F(GceTokensTest, an_external_account_may_act_as_a_service_account) {
  body_ = R"({"access_token": "OWN", "expires_in": 3599, "accessToken": "TOKEN",
              "expireTime": "2999-01-01T00:00:00Z"})";
  const CredentialSource source = {
      .kind = CredentialSource::Kind::external_account,
      .token_url = "/token",
      .audience = "a",
      .subject_token_type = "jwt",
      .subject_token = {.file = directory_.write("token", R"({"id_token": "FOREIGN"})"),
                        .field = "id_token"},
      .impersonation_url = server_.url() + "/ci:generateAccessToken"};
  EXPECT_EQ(loop_.run(tokens(source).get())->text, "TOKEN");
  EXPECT_THAT(server_.calls().at(0).body,
              AllOf(HasSubstr("auth%2Fcloud-platform"), HasSubstr("subject_token=FOREIGN")));
  const http::HttpServer::Call& call = server_.calls().at(1);
  EXPECT_EQ(call.method + " " + call.target, "POST /ci:generateAccessToken");
  EXPECT_THAT(call.headers, testing::Contains(Pair("authorization", "Bearer OWN")));
  EXPECT_EQ(call.body,
            R"({"scope":["https://www.googleapis.com/auth/compute"],"lifetime":"3600s"})");
}

TEST_F(GceTokensTest, a_refused_external_account_says_why_but_no_secret) {
  CredentialSource source = {.kind = CredentialSource::Kind::external_account,
                             .token_url = "/token",
                             .subject_token = {.file = directory_.write("token", "FOREIGN")}};
  status_ = 403;
  body_ = R"({"error": {"code": 403, "message": "no permission for FOREIGN"}})";
  EXPECT_EQ(error_with(source), "google: get token: HTTP 403 no permission for ***");
  source.subject_token.file = "/nowhere";
  EXPECT_EQ(error_with(source), "/nowhere: cannot be read, or is empty");
  source.subject_token.file = directory_.write("token", "FOREIGN");
  source.subject_token.field = "id_token";
  EXPECT_THAT(error_with(source),
              AllOf(HasSubstr(source.subject_token.file), Not(HasSubstr("FOREIGN"))));
  EXPECT_THAT(logged_, Not(HasSubstr("FOREIGN")));
}

TEST_F(GceTokensTest, an_external_account_has_one_for_the_token_at_its_url) {
  body_ = R"({"id_token": "FOREIGN", "access_token": "TOKEN", "expires_in": 3599})";
  const CredentialSource source = {.kind = CredentialSource::Kind::external_account,
                                   .token_url = "/token",
                                   .subject_token = {.url = server_.url() + "/identity?for=google",
                                                     .headers = {{"Metadata", "True"}},
                                                     .field = "id_token"}};
  EXPECT_EQ(loop_.run(tokens(source).get())->text, "TOKEN");
  const http::HttpServer::Call& call = server_.calls().at(0);
  EXPECT_EQ(call.method + " " + call.target, "GET /identity?for=google");
  EXPECT_THAT(call.headers, testing::Contains(Pair("metadata", "True")));
  EXPECT_THAT(server_.calls().at(1).body, testing::EndsWith("&subject_token=FOREIGN"));
}

TEST_F(GceTokensTest, a_url_without_a_token_is_named_in_the_error) {
  CredentialSource source = {.kind = CredentialSource::Kind::external_account,
                             .token_url = "/token",
                             .subject_token = {.url = server_.url(), .field = "id_token"}};
  body_ = "FOREIGN";
  EXPECT_EQ(error_with(source),
            "google: get token of the identity provider: cannot be read, or is no JSON");
  body_ = R"({"id_token": ""})";
  EXPECT_EQ(error_with(source), "google: get token of the identity provider: the token is empty");
  source.subject_token.field = "";
  body_ = "";
  EXPECT_THAT(error_with(source), HasSubstr("the token is empty"));
  body_ = std::string((std::size_t{1} << 20) + 1, 'x');
  EXPECT_THAT(error_with(source), HasSubstr("response too large"));
  body_ = "FOREIGN";
  status_ = 404;
  EXPECT_THAT(error_with(source), HasSubstr("get token of the identity provider: HTTP 404"));
  EXPECT_THAT(server_.calls(),
              testing::Each(testing::Field(&http::HttpServer::Call::method, "GET")));
}

TEST_F(GceTokensTest, an_external_account_has_one_for_the_token_of_its_program) {
  const CredentialSource source = {
      .kind = CredentialSource::Kind::external_account,
      .token_url = "/token",
      .subject_token = {.program = {"sh", "-c",
                                    R"(echo '{"version": 1, "success": true, "token_type":
                                       "urn:ietf:params:oauth:token-type:jwt",
                                       "id_token": "'$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE'"}')"},
                        .variables = {{"GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", "for-this"}},
                        .time_limit = std::chrono::minutes(1)}};
  EXPECT_EQ(loop_.run(tokens(source).get())->text, "TOKEN");
  EXPECT_THAT(server_.calls().at(0).body, testing::EndsWith("&subject_token=for-this"));
}

TEST_F(GceTokensTest, a_program_that_cannot_be_run_is_an_error) {
  EXPECT_THAT(error_with({.kind = CredentialSource::Kind::external_account,
                          .token_url = "/token",
                          .subject_token = {.program = {"/nowhere/program"},
                                            .time_limit = std::chrono::minutes(1)}}),
              HasSubstr("executable of the credentials"));
}

TEST(GceSubjectToken, the_output_of_a_program_has_one_or_says_why_not) {
  const auto error_of = [](const std::string& output) -> std::string {
    try {
      return subject_token_in_output(output, 1000);
    } catch (const CloudError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(subject_token_in_output(
                R"({"version": 1, "success": true, "expiration_time": 1001, "saml_response": "SAML",
                    "token_type": "urn:ietf:params:oauth:token-type:saml2"})",
                1000),
            "SAML");
  EXPECT_THAT(error_of(R"({"version": 1, "success": true, "expiration_time": 999, "id_token": "T",
                           "token_type": "urn:ietf:params:oauth:token-type:id_token"})"),
              HasSubstr("has expired"));
  EXPECT_THAT(error_of(R"({"version": 1, "success": true, "id_token": "",
                           "token_type": "urn:ietf:params:oauth:token-type:id_token"})"),
              HasSubstr("the token is empty"));
  EXPECT_THAT(error_of(R"({"version": 1, "success": false, "code": "401", "message": "sign in"})"),
              HasSubstr("401: sign in"));
  EXPECT_THAT(error_of(R"({"version": 2, "success": true})"), HasSubstr("version"));
  EXPECT_THAT(error_of("FOREIGN"), AllOf(HasSubstr("is no JSON"), Not(HasSubstr("FOREIGN"))));
}

TEST_F(GceTokensTest, a_user_may_act_as_a_service_account) {
  body_ = R"({"access_token": "OWN", "expires_in": 3599, "accessToken": "TOKEN",
              "expireTime": "2999-01-01T00:00:00Z"})";
  loop_.run(tokens({.kind = CredentialSource::Kind::authorized_user,
                    .token_url = "/token",
                    .client_id = "c",
                    .client_secret = "s",
                    .refresh_token = "r",
                    .impersonation_url = server_.url() + "/ci:generateAccessToken",
                    .delegates = {"projects/-/serviceAccounts/between"}})
                .get());
  EXPECT_THAT(server_.calls().at(0).body, HasSubstr("grant_type=refresh_token"));
  const http::HttpServer::Call& call = server_.calls().at(1);
  EXPECT_EQ(call.method + " " + call.target, "POST /ci:generateAccessToken");
  EXPECT_THAT(call.headers, testing::Contains(Pair("authorization", "Bearer OWN")));
  EXPECT_EQ(call.body, R"({"scope":["https://www.googleapis.com/auth/compute"],)"
                       R"("lifetime":"3600s","delegates":["projects/-/serviceAccounts/between"]})");
}

TEST_F(GceTokensTest, a_refusal_says_why_but_no_secret) {
  status_ = 400;
  body_ = R"({"error": "invalid_grant", "error_description": "Bad SECRET and REFRESH"})";
  EXPECT_EQ(error_with({.kind = CredentialSource::Kind::authorized_user,
                        .token_url = "/token",
                        .client_id = "c",
                        .client_secret = "SECRET",
                        .refresh_token = "REFRESH"}),
            "google: get token: HTTP 400 invalid_grant: Bad *** and ***");
  EXPECT_THAT(logged_, AllOf(Not(HasSubstr("SECRET")), Not(HasSubstr("REFRESH"))));
}

TEST_F(GceTokensTest, a_key_that_is_none_is_an_error_without_it) {
  const std::string error = error_with({.kind = CredentialSource::Kind::service_account,
                                        .token_url = "/token",
                                        .email = "ci@p",
                                        .private_key = "-----BEGIN PRIVATE KEY-----\nABC"});
  EXPECT_EQ(error, "the private key is not valid");
}

TEST_F(GceTokensTest, an_unreadable_response_is_an_error_without_the_token) {
  body_ = R"({"access_token": "TOKEN"})";
  EXPECT_THAT(error_with({.token_url = "/token"}),
              AllOf(HasSubstr("expires_in is missing"), Not(HasSubstr("TOKEN"))));
}

async::Task<> remove_an_instance(ComputeEngine& engine) {
  std::string name = "np1";
  auto removing = engine.remove(std::move(name));
  co_await std::move(removing);
}

TEST_F(GceTokensTest, a_launch_trace_has_the_request_ids) {
  AccessTokens& access = tokens({.token_url = "/token"});
  loop_.run(access.get());
  account_.base_url = server_.url();
  headers_ = "X-Request-Id: request-1\r\n";
  PausingRateLimit rate_limit(clock_);
  ComputeEngine engine(runtime_, account_, access, rate_limit, log(), {});
  EXPECT_THAT(request_ids(loop_, runtime_, remove_an_instance(engine)),
              testing::ElementsAre("request-1"));
}

TEST_F(GceTokensTest, calls_trust_only_the_accounts_authorities) {
  FailingCalls calls(loop_);
  account_.ca_file = kMissingAuthorities;
  account_.base_url = as_https(server_.url());
  AccessTokens& known = tokens({.token_url = "/token"});
  loop_.run(known.get());
  PausingRateLimit rate_limit(clock_);
  ComputeEngine engine(calls.runtime(), account_, known, rate_limit, log(), {});
  EXPECT_THAT(calls.error_of(remove_an_instance(engine)), HasSubstr(kMissingAuthorities));
  account_.credentials.token_url = as_https(server_.url());
  AccessTokens others(calls.runtime(), account_, log(), {});
  EXPECT_THAT(calls.error_of(others.get()), HasSubstr(kMissingAuthorities));
  loop_.run(others.stop());
}

}  // namespace
}  // namespace nodepool::drivers::gce
