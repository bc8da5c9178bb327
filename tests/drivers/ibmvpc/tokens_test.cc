// How access tokens of IBM Cloud are obtained.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "driver/cloud_error.h"
#include "drivers/ibmvpc/api/iam_tokens.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::ibmvpc {
namespace {

using driver::CloudError;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using CredentialKind = IamCredentials::Kind;

class IbmTokensTest : public testing::Test {
 protected:
  ~IbmTokensTest() override {
    if (tokens_) loop_.run(tokens_->stop());
    loop_.run(server_.stop());
  }

  async::Task<std::string> serve(const http::HttpServer::Call& call) {
    const bool asks_for_identity = call.method == "PUT";
    co_return http::answer(status_, asks_for_identity ? identity_ : body_);
  }

  std::string token(IamCredentials credentials) {
    credentials.url = server_.url() + credentials.url;
    account_.credentials = std::move(credentials);
    const auto log =
        telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {});
    tokens_ = std::make_unique<IamTokens>(runtime_, account_, telemetry::Logger(log, "test"),
                                          http::Client::Observer());
    return loop_.run(tokens_->get())->text;
  }

  std::string error_with(IamCredentials credentials) {
    try {
      token(std::move(credentials));
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
  std::string identity_ = R"({"access_token": "IDENTITY", "expires_in": 300})";
  std::string body_ = R"({"access_token": "TOKEN", "expires_in": 3600, "token_type": "Bearer"})";
  VpcAccount account_;
  std::unique_ptr<IamTokens> tokens_;
  test_support::TemporaryDirectory directory_;
};

TEST_F(IbmTokensTest, a_container_has_one_for_the_first_readable_one_of_its_files) {
  EXPECT_EQ(token({.kind = CredentialKind::container,
                   .url = "/identity/token",
                   .profile_name = "the ci",
                   .resource_token_files = {"/nowhere", "/", directory_.write("token", "A/B\n")}}),
            "TOKEN");
  const http::HttpServer::Call& call = server_.calls().at(0);
  EXPECT_EQ(call.method + " " + call.target, "POST /identity/token");
  EXPECT_EQ(call.body,
            "grant_type=urn%3Aibm%3Aparams%3Aoauth%3Agrant-type%3Acr-token&cr_token=A%2FB"
            "&profile_name=the%20ci");
}

TEST_F(IbmTokensTest, a_container_may_name_its_profile_by_id) {
  token({.kind = CredentialKind::container,
         .profile_id = "Profile-1",
         .resource_token_files = {directory_.write("token", "T")}});
  EXPECT_THAT(server_.calls().at(0).body, HasSubstr("&profile_id=Profile-1"));
}

TEST_F(IbmTokensTest, a_refused_container_has_an_error_without_its_token) {
  const std::string file = directory_.write("token", "SECRET");
  status_ = 400;
  body_ = R"({"errorCode": "BXNIM0426E", "errorMessage": "SECRET is not valid"})";
  EXPECT_THAT(error_with({.kind = CredentialKind::container, .resource_token_files = {file}}),
              AllOf(HasSubstr("BXNIM0426E"), Not(HasSubstr("SECRET"))));
  EXPECT_EQ(
      error_with({.kind = CredentialKind::container, .resource_token_files = {"/nowhere", "/"}}),
      "/nowhere: cannot be read, or is empty; /: cannot be read, or is empty");
}

TEST_F(IbmTokensTest, an_instance_has_one_from_its_metadata_service) {
  EXPECT_EQ(token({.kind = CredentialKind::instance, .profile_crn = "crn:1"}), "TOKEN");
  const http::HttpServer::Call& identity = server_.calls().at(0);
  EXPECT_EQ(identity.method + " " + identity.target,
            "PUT /instance_identity/v1/token?version=2022-03-01");
  EXPECT_THAT(identity.headers, Contains(Pair("metadata-flavor", "ibm")));
  EXPECT_EQ(identity.body, R"({"expires_in":300})");
  const http::HttpServer::Call& call = server_.calls().at(1);
  EXPECT_EQ(call.method + " " + call.target,
            "POST /instance_identity/v1/iam_token?version=2022-03-01");
  EXPECT_THAT(call.headers, Contains(Pair("authorization", "Bearer IDENTITY")));
  EXPECT_THAT(call.headers, Contains(Pair("metadata-flavor", "ibm")));
  EXPECT_EQ(call.body, R"({"trusted_profile":{"crn":"crn:1"}})");
}

TEST_F(IbmTokensTest, an_instance_has_a_default_profile) {
  token({.kind = CredentialKind::instance});
  EXPECT_EQ(server_.calls().at(1).body, "");
}

TEST_F(IbmTokensTest, without_a_metadata_service_the_error_names_the_setting) {
  status_ = 0;
  EXPECT_THAT(error_with({.kind = CredentialKind::instance}),
              HasSubstr("VPC_AUTH_TYPE=vpc needs an instance of a VPC"));
}

}  // namespace
}  // namespace nodepool::drivers::ibmvpc
