#include "drivers/gce/api/access_tokens.h"

#include <fmt/format.h>

#include <cmath>

#include "cloud/answer.h"
#include "cloud/jwt.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::gce {

using driver::CloudError;
using SourceKind = CredentialSource::Kind;

namespace {

constexpr const char* kCall = "google: get token";
constexpr const char* kScope = "https://www.googleapis.com/auth/compute";
constexpr int kAssertionLife = 3600;  // seconds: the maximum
constexpr auto kAnswerLimit = std::chrono::seconds(20);

// "invalid_grant: Invalid JWT Signature." (RFC 6749 §5.2); empty if the response has another form.
std::string message_in(const http::Response& response) {
  try {
    const cloud::Element answer = cloud::parse_answer(kCall, response);
    return answer.text_or("error") + ": " + answer.text_or("error_description");
  } catch (const CloudError&) {
    return {};
  }
}

}  // namespace

// The metadata server must not be called through a proxy.
AccessTokens::AccessTokens(const async::Runtime& runtime, const CredentialSource& source,
                           telemetry::Logger log, http::Client::Observer on_attempt)
    : runtime_(runtime),
      source_(source),
      client_(runtime, {.transfers = {.is_direct = source.kind == SourceKind::metadata_server}},
              log, std::move(on_attempt)),
      current_(runtime, "Google access token", std::move(log), [this] { return ask(); }) {}

http::Request AccessTokens::request() const {
  http::Request request{.url = source_.token_url,
                        .name = kCall,
                        .repeatable = http::Request::Repeatable::yes,
                        .deadline = kAnswerLimit};
  if (source_.kind == SourceKind::metadata_server) {
    request.headers = {{"Metadata-Flavor", "Google"}};
    return request;
  }
  request.method = "POST";
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  if (source_.kind == SourceKind::service_account) {
    const auto now = static_cast<std::int64_t>(std::floor(runtime_.clock.wall_seconds()));
    const json::Json payload = {{"iss", source_.email},
                                {"scope", kScope},
                                {"aud", source_.token_url},
                                {"iat", now},
                                {"exp", now + kAssertionLife}};
    json::Json header = {{"alg", "RS256"}, {"typ", "JWT"}};
    if (!source_.private_key_id.empty()) header["kid"] = source_.private_key_id;
    const std::string assertion =
        cloud::signed_jwt(source_.private_key, header.dump(), payload.dump());
    request.body =
        fmt::format("grant_type={}&assertion={}",
                    cloud::url_text("urn:ietf:params:oauth:grant-type:jwt-bearer"), assertion);
    request.secrets = {assertion};
  } else {
    request.body = fmt::format(
        "grant_type=refresh_token&client_id={}&client_secret={}"
        "&refresh_token={}",
        cloud::url_text(source_.client_id), cloud::url_text(source_.client_secret),
        cloud::url_text(source_.refresh_token));
    request.secrets = {source_.client_secret, source_.refresh_token};
  }
  return request;
}

// All failures become CloudError(auth). Errors never contain a successful response: it has a token.
async::Task<AccessTokens::Token> AccessTokens::ask() {
  const async::Clock::TimePoint asked_at = runtime_.clock.now();
  http::Request asking = request();
  const std::vector<std::string> secrets = asking.secrets;
  http::Response response;
  try {
    response = co_await client_.send(std::move(asking));
  } catch (const http::HttpError& error) {
    const bool is_elsewhere = source_.kind == SourceKind::metadata_server;
    throw CloudError(CloudError::Kind::auth,
                     fmt::format("{}: {}{}", kCall, error.what(),
                                 is_elsewhere ? " (outside of Google Compute Engine, set "
                                                "GOOGLE_APPLICATION_CREDENTIALS)"
                                              : ""));
  }
  if (!response.is_success()) {
    throw CloudError(CloudError::Kind::auth,
                     fmt::format("{}: HTTP {} {}", kCall, response.status,
                                 http::without_secrets(message_in(response), secrets)));
  }
  try {
    const cloud::Element answer = cloud::parse_answer(kCall, response);
    Token token{.text = answer.text("access_token"), .life = {}};
    const std::chrono::duration<double> life(answer.number("expires_in"));
    token.life = cloud::token_life(asked_at, life);
    co_return token;
  } catch (const CloudError& error) {
    throw CloudError(CloudError::Kind::auth, error.what());
  }
}

}  // namespace nodepool::drivers::gce
