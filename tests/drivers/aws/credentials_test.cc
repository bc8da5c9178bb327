#include "drivers/aws/api/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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
    if (call.target == "/latest/api/token") {
      const int status = session_status_;
      if (issues_sessions_later_) session_status_ = 200;
      if (status == 0) co_return std::string();
      co_return http::answer(status, "token");
    }
    if (!has_header) co_return http::answer(401, "");
    if (call.target.ends_with("/security-credentials/")) co_return http::answer(200, "role\n");
    co_return http::answer(200, body_);
  }

  Credentials& credentials(CredentialSource source) {
    account_.region = "north-1";
    for (const ServiceKind service : kAllServices) account_.endpoints[service] = server_.url();
    source.url = source.url.empty() ? "" : server_.url() + source.url;
    source.session_timeout = session_timeout_;
    account_.credentials = std::move(source);
    const auto log =
        telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {});
    credentials_ = std::make_unique<Credentials>(
        runtime_, account_, threads_, telemetry::Logger(log, "test"), http::Client::Observer());
    return *credentials_;
  }

  std::string in_an_hour() const { return cloud::iso_time(clock_.wall_seconds() + 3600); }

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
  int session_status_ = 200;            // of the request for a session; 0: no response
  bool issues_sessions_later_ = false;  // whether only the first such request gets that status
  std::int64_t session_timeout_ = 60;   // longer than a busy machine takes
  std::string body_;
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

TEST_F(CredentialsTest, an_instance_without_sessions_is_asked_without_a_token) {
  body_ = keys_as_json();
  for (const int status : {0, 400, 403, 404, 405}) {
    session_status_ = status;
    session_timeout_ = status == 0 ? 1 : 60;
    if (credentials_) loop_.run(credentials_->stop());
    Credentials& instance = credentials({.kind = SourceKind::instance_metadata});
    account_.credentials.url = server_.url();
    EXPECT_EQ(loop_.run(instance.get())->keys, kFound) << status;
    EXPECT_THAT(server_.calls().back().headers,
                Not(Contains(Pair("x-aws-ec2-metadata-token", testing::_))));
  }
}

TEST_F(CredentialsTest, an_instance_without_sessions_is_not_asked_if_they_are_required) {
  session_status_ = 403;
  CredentialSource source{.kind = SourceKind::instance_metadata};
  source.needs_session = true;
  Credentials& instance = credentials(source);
  account_.credentials.url = server_.url();
  EXPECT_THROW(loop_.run(instance.get()), driver::CloudError);
  EXPECT_EQ(calls_, 1);
}

TEST_F(CredentialsTest, a_slow_instance_that_requires_sessions_is_asked_for_one_again) {
  body_ = keys_as_json();
  needed_header_ = {"x-aws-ec2-metadata-token", "token"};
  session_status_ = 403;
  issues_sessions_later_ = true;
  Credentials& instance = credentials({.kind = SourceKind::instance_metadata});
  account_.credentials.url = server_.url();
  EXPECT_EQ(loop_.run(instance.get())->keys, kFound);
  EXPECT_EQ(calls_, 5) << "two for a session, one without, two with it";
}

TEST_F(CredentialsTest, an_instance_that_requires_sessions_without_issuing_any_is_reported) {
  needed_header_ = {"x-aws-ec2-metadata-token", "token"};
  session_status_ = 403;
  Credentials& instance = credentials({.kind = SourceKind::instance_metadata});
  account_.credentials.url = server_.url();
  EXPECT_THAT(
      [&] { loop_.run(instance.get()); },
      testing::ThrowsMessage<driver::CloudError>(HasSubstr("instance metadata: token: HTTP 403")));
  EXPECT_EQ(calls_, 3);
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
