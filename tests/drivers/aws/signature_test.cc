// Against the published vectors of Signature Version 4 (AWS, aws-sig-v4-test-suite).

#include "drivers/aws/api/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cloud/digest.h"

namespace nodepool::drivers::aws {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

const Keys kKeys{.access_key_id = "AKIDEXAMPLE",
                 .secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                 .session_token = ""};
const SigningScope kScope{.region = "us-east-1", .service = "service", .time = 1440938160};

// The Authorization header.
std::string signed_as(http::Request request, const Keys& keys = kKeys) {
  sign(request, keys, kScope, cloud::sha256_hex(request.body));
  return request.headers.back().second;
}

http::Request request(std::string method, std::string target) {
  return {.method = std::move(method), .url = "https://example.amazonaws.com" + target};
}

TEST(Signature, get_vanilla) {
  EXPECT_EQ(signed_as(request("GET", "/")),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST(Signature, get_vanilla_query_order_key_case) {
  EXPECT_THAT(signed_as(request("GET", "/?Param2=value2&Param1=value1")),
              EndsWith("b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"));
}

TEST(Signature, post_vanilla) {
  EXPECT_THAT(signed_as(request("POST", "/")),
              EndsWith("5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"));
}

TEST(Signature, post_x_www_form_urlencoded) {
  http::Request form = request("POST", "/");
  form.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  form.body = "Param1=value1";
  EXPECT_THAT(signed_as(form),
              EndsWith("ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"));
}

TEST(Signature, a_session_s_token_is_sent_and_signed_and_secret) {
  Keys keys = kKeys;
  keys.session_token = "session";
  http::Request with_session = request("GET", "/");
  sign(with_session, keys, kScope, cloud::sha256_hex(""));
  EXPECT_THAT(with_session.headers,
              testing::Contains(testing::Pair("X-Amz-Security-Token", "session")));
  EXPECT_THAT(with_session.headers.back().second,
              HasSubstr("SignedHeaders=host;x-amz-date;x-amz-security-token"));
  EXPECT_THAT(with_session.secrets,
              testing::IsSupersetOf({"session", keys.secret_access_key.c_str()}));
}

}  // namespace
}  // namespace nodepool::drivers::aws
