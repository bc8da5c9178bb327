#include "drivers/aws/api/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "async/event_loop.h"
#include "cloud/iso_time.h"
#include "driver/cloud_error.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::aws {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using SourceKind = CredentialSource::Kind;

// What hands out keys: the instance's service, the container's, STS.
class CredentialsTest : public testing::Test {
 protected:
  ~CredentialsTest() override {
    if (credentials_) loop_.run(credentials_->stop());
    loop_.run(server_.stop());
  }

  async::Task<std::string> serve(const http::HttpServer::Call& call) {
    ++calls_;
    const auto header =
        std::ranges::find(call.headers, needed_header_.first, &http::Headers::value_type::first);
    const bool has_header =
        needed_header_.first.empty() ||
        (header != call.headers.end() && header->second == needed_header_.second);
    if (status_ != 200) co_return http::answer(status_, body_);
    if (call.target == "/token") co_return http::answer(token_status_, renewed_token_);
    if (call.target == "/latest/api/token") co_return http::answer(200, "token");
    if (!has_header) co_return http::answer(401, "");
    if (call.target.ends_with("/security-credentials/")) co_return http::answer(200, "role\n");
    co_return http::answer(200, body_);
  }

  Credentials& credentials(CredentialSource source) {
    account_.region = "north-1";
    for (const ServiceKind service : kAllServices) account_.endpoints[service] = server_.url();
    source.url = source.url.empty() ? "" : server_.url() + source.url;
    account_.credentials = std::move(source);
    const auto log =
        telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {});
    credentials_ = std::make_unique<Credentials>(
        runtime_, account_, threads_, telemetry::Logger(log, "test"), http::Client::Observer());
    return *credentials_;
  }

  std::string in_seconds(double seconds) const {
    return cloud::iso_time(clock_.wall_seconds() + seconds);
  }
  std::string in_an_hour() const { return in_seconds(3600); }

  // A sign-in whose token runs out in so many seconds, and its file.
  CredentialSource sign_in(double seconds, const std::string& more = {}) {
    file_ = directory_.write("sign-in.json", R"({"startUrl": "https://a", "accessToken": "old",
                                                 "expiresAt": ")" +
                                                 in_seconds(seconds) + "\"" + more + "}");
    return {.kind = SourceKind::single_sign_on,
            .sso = {.region = "east-1",
                    .account_id = "123",
                    .role_name = "a role",
                    .token_file = file_,
                    .sign_in = "aws sso login --sso-session s"}};
  }
  std::string registration(double seconds) const {
    return R"(, "clientId": "client", "clientSecret": "hush", "refreshToken": "again",
              "registrationExpiresAt": ")" +
           in_seconds(seconds) + "\"";
  }
  std::string role_credentials() const {
    return R"({"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "B", "sessionToken": "C",
               "expiration": )" +
           std::to_string(static_cast<std::int64_t>((clock_.wall_seconds() + 3600) * 1000)) + "}}";
  }

  // What getting keys fails with.
  std::string failure_of(CredentialSource source) {
    try {
      loop_.run(credentials(std::move(source)).get());
    } catch (const driver::CloudError& error) {
      EXPECT_EQ(error.kind(), driver::CloudError::Kind::auth);
      return error.what();
    }
    return "keys";
  }

  // A program that writes this.
  CredentialSource program(const std::string& script) {
    return {.kind = SourceKind::program,
            .command = {"/bin/sh", directory_.write("program", script), "an argument"}};
  }
  std::string keys_as_json() const {
    return R"({"Code": "Success", "AccessKeyId": "A", "SecretAccessKey": "B", "Token": "C",
               "Expiration": ")" +
           in_an_hour() + "\"}";
  }
  std::string keys_as_xml(const std::string& action) const {
    return "<" + action + "Response><" + action +
           "Result><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>B</SecretAccessKey>"
           "<SessionToken>C</SessionToken><Expiration>" +
           in_an_hour() + "</Expiration></Credentials></" + action + "Result></" + action +
           "Response>";
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool threads_{1, "test"};
  test_support::TemporaryDirectory directory_;
  int status_ = 200;
  std::string body_;
  int token_status_ = 200;
  std::string renewed_token_;
  std::string file_;  // of the sign-in
  std::pair<std::string, std::string> needed_header_;
  int calls_ = 0;
  http::HttpServer server_{runtime_,
                           [this](const http::HttpServer::Call& call) { return serve(call); }};
  Account account_;
  std::unique_ptr<Credentials> credentials_;
};

const Keys kFound{"A", "B", "C"};

TEST_F(CredentialsTest, the_instance_is_asked_with_a_token) {
  body_ = keys_as_json();
  needed_header_ = {"x-aws-ec2-metadata-token", "token"};
  Credentials& credentials = this->credentials({.kind = SourceKind::instance_metadata});
  account_.credentials.url = server_.url();
  const auto found = loop_.run(credentials.get());
  EXPECT_EQ(found->keys, kFound);
  EXPECT_GT(found->life.renew_at, clock_.now() + std::chrono::minutes(50));
  EXPECT_LT(found->life.renew_at, clock_.now() + std::chrono::minutes(56));
  loop_.run(credentials.get());
  EXPECT_EQ(calls_, 3) << "once for all";
}

TEST_F(CredentialsTest, requests_to_local_services_bypass_the_proxy) {
  body_ = keys_as_json();
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  Credentials& instance = credentials({.kind = SourceKind::instance_metadata});
  account_.credentials.url = server_.url();
  EXPECT_EQ(loop_.run(instance.get())->keys, kFound);
  loop_.run(instance.stop());
  Credentials& container = credentials({.kind = SourceKind::container, .url = "/keys"});
  EXPECT_EQ(loop_.run(container.get())->keys, kFound);
  ::unsetenv("http_proxy");
}

TEST_F(CredentialsTest, the_container_s_service_is_asked_with_what_authorizes_it) {
  body_ = keys_as_json();
  needed_header_ = {"authorization", "of the file"};
  const CredentialSource source{.kind = SourceKind::container,
                                .token_file = directory_.write("token", "of the file\n"),
                                .url = "/keys"};
  EXPECT_EQ(loop_.run(credentials(source).get())->keys, kFound);
}

TEST_F(CredentialsTest, keys_with_a_distant_expiry_are_kept) {
  body_ = R"({"AccessKeyId": "A", "SecretAccessKey": "B", "Token": "C",
              "Expiration": "9999-12-31T23:59:59Z"})";
  Credentials& credentials = this->credentials({.kind = SourceKind::container, .url = "/keys"});
  loop_.run(credentials.get());
  loop_.run(credentials.get());
  EXPECT_EQ(calls_, 1);
}

TEST_F(CredentialsTest, a_role_is_assumed_with_other_keys) {
  body_ = keys_as_xml("AssumeRole");
  CredentialSource source{.kind = SourceKind::assumed_role,
                          .role_arn = "arn:role",
                          .session_name = "nodepool",
                          .external_id = "x y",
                          .duration = 900};
  source.base.push_back({.keys = {"BASE", "SECRET", ""}});
  EXPECT_EQ(loop_.run(credentials(source).get())->keys, kFound);
  const http::HttpServer::Call& call = server_.calls().at(0);
  EXPECT_EQ(call.body,
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Arole&RoleSessionName=nodepool&"
            "DurationSeconds=900&ExternalId=x%20y");
  EXPECT_THAT(call.headers, Contains(Pair("authorization", HasSubstr("Credential=BASE/"))));
}

TEST_F(CredentialsTest, a_web_identity_is_shown_and_not_signed) {
  body_ = keys_as_xml("AssumeRoleWithWebIdentity");
  const CredentialSource source{.kind = SourceKind::web_identity,
                                .role_arn = "arn:role",
                                .session_name = "s",
                                .token_file = directory_.write("token", "ey.J.x\n")};
  EXPECT_EQ(loop_.run(credentials(source).get())->keys, kFound);
  const http::HttpServer::Call& call = server_.calls().at(0);
  EXPECT_THAT(call.body, HasSubstr("WebIdentityToken=ey.J.x"));
  EXPECT_THAT(call.headers, Not(Contains(Pair("authorization", testing::_))));
}

TEST_F(CredentialsTest, keys_that_are_refused_are_asked_for_anew) {
  body_ = keys_as_json();
  Credentials& credentials = this->credentials({.kind = SourceKind::container, .url = "/keys"});
  const auto first = loop_.run(credentials.get());
  credentials.refused(first);
  loop_.run(credentials.get());
  EXPECT_EQ(calls_, 2);
}

TEST_F(CredentialsTest, a_failure_names_the_service_and_shows_no_secret) {
  status_ = 403;
  body_ =
      "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no ey.J.x</Message></Error>"
      "</ErrorResponse>";
  const CredentialSource source{.kind = SourceKind::web_identity,
                                .role_arn = "arn:role",
                                .session_name = "s",
                                .token_file = directory_.write("token", "ey.J.x\n")};
  try {
    loop_.run(credentials(source).get());
    ADD_FAILURE() << "keys";
  } catch (const driver::CloudError& error) {
    EXPECT_EQ(error.kind(), driver::CloudError::Kind::auth);
    EXPECT_THAT(error.what(), HasSubstr("sts: AssumeRoleWithWebIdentity: HTTP 403 AccessDenied"));
    EXPECT_THAT(error.what(), Not(HasSubstr("ey.J.x")));
  }
}

TEST_F(CredentialsTest, an_answer_that_is_none_is_a_failure_of_the_credentials) {
  body_ = R"({"Code": "Failed", "Message": "no role"})";
  EXPECT_THAT(failure_of({.kind = SourceKind::container, .url = "/keys"}),
              HasSubstr("AccessKeyId is missing"));
  body_ = "<html/>";
  const CredentialSource source{.kind = SourceKind::web_identity,
                                .role_arn = "arn:role",
                                .session_name = "s",
                                .token_file = directory_.write("token", "ey.J.x\n")};
  EXPECT_THAT(failure_of(source), HasSubstr("AccessKeyId is missing"));
}

TEST_F(CredentialsTest, a_token_is_no_file_without_end) {
  EXPECT_THAT(failure_of({.kind = SourceKind::web_identity, .token_file = "/dev/zero"}),
              HasSubstr("the file contains no token"));
}

// --- IAM Identity Center

TEST_F(CredentialsTest, a_sign_in_yields_keys_of_the_role) {
  body_ = role_credentials();
  needed_header_ = {"x-amz-sso_bearer_token", "old"};
  const auto found = loop_.run(credentials(sign_in(3600)).get());
  EXPECT_EQ(found->keys, kFound);
  EXPECT_GT(found->life.renew_at, clock_.now() + std::chrono::minutes(50));
  EXPECT_LT(found->life.renew_at, clock_.now() + std::chrono::minutes(56));
  EXPECT_EQ(server_.calls().at(0).target,
            "/federation/credentials?role_name=a%20role&account_id=123");
  EXPECT_EQ(calls_, 1);
}

TEST_F(CredentialsTest, a_sign_in_is_renewed_before_it_runs_out_and_kept_for_others) {
  body_ = role_credentials();
  needed_header_ = {"x-amz-sso_bearer_token", "new"};
  renewed_token_ = R"({"accessToken": "new", "expiresIn": 3600, "refreshToken": "next"})";
  EXPECT_EQ(loop_.run(credentials(sign_in(60, registration(3600))).get())->keys, kFound);
  EXPECT_EQ(nlohmann::json::parse(server_.calls().at(0).body),
            nlohmann::json::parse(R"({"clientId": "client", "clientSecret": "hush",
                                      "grantType": "refresh_token", "refreshToken": "again"})"));
  const SsoToken kept = parse_sso_token(test_support::read_file(file_));
  EXPECT_EQ(kept.access_token, "new");
  EXPECT_EQ(kept.refresh_token, "next");
  EXPECT_GT(kept.expires, clock_.wall_seconds() + 3000);
  EXPECT_THAT(test_support::read_file(file_), HasSubstr("https://a")) << "what else is in it stays";
  EXPECT_EQ(std::filesystem::status(file_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(CredentialsTest, an_end_that_cannot_be_meant_makes_the_answer_unreadable) {
  body_ = R"({"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "B", "sessionToken": "C",
              "expiration": 1e300}})";
  EXPECT_THAT(failure_of(sign_in(3600)), HasSubstr("expiration is out of range"));
}

TEST_F(CredentialsTest, a_sign_in_with_a_distant_expiry_is_kept) {
  body_ = R"({"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "B", "sessionToken": "C",
              "expiration": 9007199254740991}})";
  renewed_token_ = R"({"accessToken": "new", "expiresIn": 1e15, "refreshToken": "next"})";
  const auto found = loop_.run(credentials(sign_in(60, registration(3600))).get());
  EXPECT_GT(found->life.renew_at, clock_.now() + std::chrono::hours(1));
  const SsoToken kept = parse_sso_token(test_support::read_file(file_));
  EXPECT_GT(kept.expires, clock_.wall_seconds() + 3600);
}

TEST_F(CredentialsTest, a_sign_in_that_cannot_be_renewed_is_used_to_its_end) {
  body_ = role_credentials();
  EXPECT_EQ(loop_.run(credentials(sign_in(60)).get())->keys, kFound);
  loop_.run(credentials_->stop());
  token_status_ = 400;
  renewed_token_ = R"({"error": "invalid_grant"})";
  EXPECT_EQ(loop_.run(credentials(sign_in(60, registration(3600))).get())->keys, kFound);
}

TEST_F(CredentialsTest, an_expired_sign_in_names_the_login_command) {
  EXPECT_THAT(failure_of(sign_in(-1)), HasSubstr("aws sso login --sso-session s"));
  EXPECT_THAT(failure_of(sign_in(-1, registration(-1))), HasSubstr("the sign-in has expired"));
  token_status_ = 400;
  renewed_token_ = R"({"error": "invalid_grant", "message": "not again"})";
  const std::string refused = failure_of(sign_in(-1, registration(3600)));
  EXPECT_THAT(refused, HasSubstr("CreateToken: HTTP 400"));
  EXPECT_THAT(refused, HasSubstr("aws sso login --sso-session s"));
  EXPECT_THAT(refused, Not(HasSubstr("hush")));
  EXPECT_THAT(refused, Not(HasSubstr("not again"))) << "the refresh token stands in it";
  CredentialSource source = sign_in(0);
  source.sso.token_file = "/nonexistent";
  EXPECT_THAT(failure_of(source), HasSubstr("not signed in; to sign in: aws sso login"));
}

TEST_F(CredentialsTest, an_account_that_may_not_be_used_says_so_and_no_token) {
  status_ = 401;
  body_ = R"({"message": "Session token old not found or invalid"})";
  const std::string refused = failure_of(sign_in(3600));
  EXPECT_THAT(refused, HasSubstr("sso: GetRoleCredentials: HTTP 401"));
  EXPECT_THAT(refused, Not(HasSubstr("token old")));
  EXPECT_THAT(refused, HasSubstr("aws sso login"));
}

// --- a program

TEST_F(CredentialsTest, a_program_hands_out_keys_and_says_how_long_they_are_good) {
  const std::string text = R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B",
                               "SessionToken": "C", "Expiration": ")";
  const auto found = loop_.run(credentials(program("[ \"$1\" = 'an argument' ] && cat <<'END'\n" +
                                                   text + in_an_hour() + "\"}\nEND\n"))
                                   .get());
  EXPECT_EQ(found->keys, kFound);
  EXPECT_LT(found->life.renew_at, clock_.now() + std::chrono::minutes(56));
}

TEST_F(CredentialsTest, keys_of_a_program_without_an_end_are_good_until_they_are_refused) {
  const std::string count = (directory_.path() / "count").string();
  Credentials& credentials = this->credentials(program("echo >> " + count + R"(
echo '{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B"}')"));
  const auto first = loop_.run(credentials.get());
  EXPECT_EQ(first->keys, (Keys{"A", "B", ""}));
  EXPECT_GT(first->life.renew_at, clock_.now() + std::chrono::hours(24));
  loop_.run(credentials.get());
  EXPECT_EQ(test_support::read_file(count), "\n");
  credentials.refused(first);
  loop_.run(credentials.get());
  EXPECT_EQ(test_support::read_file(count), "\n\n");
}

TEST_F(CredentialsTest, a_failing_program_is_reported_without_its_output) {
  EXPECT_THAT(failure_of(program("echo secret; exit 3")),
              testing::AllOf(HasSubstr("failed with exit status 3"), Not(HasSubstr("secret"))));
  EXPECT_THAT(failure_of(program("echo '{\"Version\": 2}'")), HasSubstr("Version is not 1"));
  EXPECT_THAT(failure_of(program("echo secret")),
              testing::AllOf(HasSubstr("is no JSON"), Not(HasSubstr("secret"))));
  EXPECT_THAT(failure_of(program("yes")), HasSubstr("writes more than 1 MiB"));
  EXPECT_THAT(failure_of({.kind = SourceKind::program, .command = {"/nonexistent/program"}}),
              HasSubstr("No such file"));
}

}  // namespace
}  // namespace nodepool::drivers::aws
