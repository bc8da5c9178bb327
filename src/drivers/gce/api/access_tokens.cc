#include "drivers/gce/api/access_tokens.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <utility>
#include <vector>

#include "cloud/answer.h"
#include "cloud/iso_time.h"
#include "cloud/jwt.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::gce {

using driver::CloudError;
using SourceKind = CredentialSource::Kind;

namespace {

constexpr const char* kCall = "google: get token";
constexpr const char* kScope = "https://www.googleapis.com/auth/compute";
// For the call that returns the token of a service account.
constexpr const char* kImpersonationScope = "https://www.googleapis.com/auth/cloud-platform";
constexpr std::size_t kMaxTokenFile = std::size_t{1} << 20;  // bytes
constexpr int kAssertionLife = 3600;                         // seconds: the maximum
constexpr auto kAnswerLimit = std::chrono::seconds(20);

std::string form(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    text += (text.empty() ? "" : "&") + name + "=" + cloud::url_text(value);
  }
  return text;
}

// "invalid_grant: Invalid JWT Signature." (RFC 6749 §5.2), or the message of an API; empty if the
// response has another form.
std::string message_in(const http::Response& response) {
  try {
    const cloud::Element answer = cloud::parse_answer(kCall, response);
    const driver::Metadata texts = answer.own_texts();
    const auto error = texts.find("error");
    if (error == texts.end()) return answer.object("error").text_or("message");
    return error->second + ": " + answer.text_or("error_description");
  } catch (const CloudError&) {
    return {};
  }
}

// The token of another identity provider, as it is at present.
std::string subject_token(const CredentialSource& source) {
  const std::string& path = source.subject_token_file;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxTokenFile, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!source.subject_token_field.empty()) {
    try {
      return cloud::Element(json::parse(text), path).text(source.subject_token_field);
    } catch (const json::ParseError&) {
      throw CloudError(CloudError::Kind::auth, path + ": cannot be read, or is no JSON");
    }
  }
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) {
    throw CloudError(CloudError::Kind::auth, path + ": cannot be read, or is empty");
  }
  return text;
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
    const std::string assertion = this->assertion();
    request.body = form(
        {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, {"assertion", assertion}});
    request.secrets = {assertion};
  } else if (source_.kind == SourceKind::external_account) {
    const std::string token = subject_token(source_);
    request.body =
        form({{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
              {"audience", source_.audience},
              {"scope", source_.impersonation_url.empty() ? kScope : kImpersonationScope},
              {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
              {"subject_token_type", source_.subject_token_type},
              {"subject_token", token}});
    request.secrets = {token, cloud::url_text(token)};
  } else {
    request.body = form({{"grant_type", "refresh_token"},
                         {"client_id", source_.client_id},
                         {"client_secret", source_.client_secret},
                         {"refresh_token", source_.refresh_token}});
    request.secrets = {source_.client_secret, source_.refresh_token};
  }
  return request;
}

// Proves that the service account's private key is known here.
std::string AccessTokens::assertion() const {
  const auto now = static_cast<std::int64_t>(std::floor(runtime_.clock.wall_seconds()));
  const json::Json payload = {{"iss", source_.email},
                              {"scope", kScope},
                              {"aud", source_.token_url},
                              {"iat", now},
                              {"exp", now + kAssertionLife}};
  json::Json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (!source_.private_key_id.empty()) header["kid"] = source_.private_key_id;
  return cloud::signed_jwt(source_.private_key, header.dump(), payload.dump());
}

// All failures become CloudError(auth). Errors never contain a successful response: it has a token.
async::Task<http::Response> AccessTokens::send(http::Request asking) {
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
  co_return response;
}

async::Task<AccessTokens::Token> AccessTokens::ask() {
  const async::Clock::TimePoint asked_at = runtime_.clock.now();
  try {
    const http::Response response = co_await send(request());
    const cloud::Element answer = cloud::parse_answer(kCall, response);
    Token token{.text = answer.text("access_token"), .life = {}};
    if (!source_.impersonation_url.empty()) co_return co_await impersonate(std::move(token.text));
    const std::chrono::duration<double> life(answer.number("expires_in"));
    token.life = cloud::token_life(asked_at, life);
    co_return token;
  } catch (const CloudError& error) {
    throw CloudError(CloudError::Kind::auth, error.what());
  }
}

// The token of the service account that the external account may act as.
async::Task<AccessTokens::Token> AccessTokens::impersonate(std::string own) {
  const async::Clock::TimePoint asked_at = runtime_.clock.now();
  const json::Json body = {{"scope", json::Json::array({kScope})},
                           {"lifetime", fmt::format("{}s", kAssertionLife)}};
  http::Request asking{
      .method = "POST",
      .url = source_.impersonation_url,
      .headers = {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + own}},
      .body = body.dump(),
      .secrets = {own},
      .name = kCall,
      .repeatable = http::Request::Repeatable::yes,
      .deadline = kAnswerLimit};
  const http::Response response = co_await send(std::move(asking));
  const cloud::Element answer = cloud::parse_answer(kCall, response);
  const std::string expiry = answer.text("expireTime");
  const std::optional<double> ends_at = cloud::parse_iso_time(expiry);
  if (!ends_at) throw CloudError(CloudError::Kind::auth, kCall + (": expires at " + expiry));
  const std::chrono::duration<double> life(*ends_at - runtime_.clock.wall_seconds());
  co_return Token{.text = answer.text("accessToken"), .life = cloud::token_life(asked_at, life)};
}

}  // namespace nodepool::drivers::gce
