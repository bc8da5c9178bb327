#include "drivers/gce/api/access_tokens.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "cloud/element.h"
#include "cloud/iso_time.h"
#include "cloud/jwt.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "drivers/gce/api/subject_token.h"

namespace nodepool::drivers::gce {

using async::Task;
using driver::CloudError;
using SourceKind = CredentialSource::Kind;

namespace {

constexpr const char* kCall = "google: get token";
constexpr const char* kSubjectCall = "google: get token of the identity provider";
constexpr const char* kScope = "https://www.googleapis.com/auth/compute";
// For the call that returns the token of a service account.
constexpr const char* kImpersonationScope = "https://www.googleapis.com/auth/cloud-platform";
// Follows the error if the metadata server does not respond.
constexpr const char* kHint =
    " (outside of Google Compute Engine, set GOOGLE_APPLICATION_CREDENTIALS)";
constexpr int kAssertionLife = 3600;  // seconds: the maximum

// The scope of the token for the kind of credentials. One for a service account to act as needs
// another.
const char* scope_of(const CredentialSource& source) {
  return source.impersonation_url.empty() ? kScope : kImpersonationScope;
}

}  // namespace

// The metadata server must not be called through a proxy.
AccessTokens::AccessTokens(const async::Runtime& runtime, const Account& account,
                           telemetry::Logger log, http::Client::Observer on_attempt)
    : BearerTokens(runtime,
                   {.name = "Google access token",
                    .call = kCall,
                    .ca_file = account.ca_file,
                    .is_direct = account.credentials.kind == SourceKind::metadata_server,
                    .hint = account.credentials.kind == SourceKind::metadata_server ? kHint : ""},
                   std::move(log), std::move(on_attempt)),
      source_(account.credentials) {}

// The token of another identity provider, as it is at present.
Task<std::string> AccessTokens::subject_token() {
  const SubjectTokenSource& source = source_.subject_token;
  if (!source.program.empty()) co_return co_await subject_token_of_program(runtime(), source);
  if (!source.file.empty()) {
    co_return subject_token_in(cloud::read_token_file(source.file), source, source.file);
  }
  http::Request asking{.url = source.url, .headers = source.headers, .name = kSubjectCall};
  for (const auto& [name, value] : source.headers) asking.secrets.push_back(value);
  const http::Response response = co_await fetch(std::move(asking));
  co_return subject_token_in(response.body, source, kSubjectCall);
}

Task<http::Request> AccessTokens::request() {
  if (source_.kind == SourceKind::metadata_server) {
    co_return http::Request{.url = source_.token_url, .headers = {{"Metadata-Flavor", "Google"}}};
  }
  http::Request request;
  if (source_.kind == SourceKind::service_account) {
    const std::string proof = assertion();
    request =
        form(source_.token_url,
             {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, {"assertion", proof}});
    request.secrets = {proof};
  } else if (source_.kind == SourceKind::external_account) {
    const std::string token = co_await subject_token();
    request = form(source_.token_url,
                   {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                    {"audience", source_.audience},
                    {"scope", scope_of(source_)},
                    {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                    {"subject_token_type", source_.subject_token_type},
                    {"subject_token", token}});
    request.secrets = {token, cloud::url_text(token)};
  } else {
    request = form(source_.token_url, {{"grant_type", "refresh_token"},
                                       {"client_id", source_.client_id},
                                       {"client_secret", source_.client_secret},
                                       {"refresh_token", source_.refresh_token}});
    request.secrets = {source_.client_secret, source_.refresh_token};
  }
  co_return request;
}

// Proves that the service account's private key is known here.
std::string AccessTokens::assertion() const {
  const auto now = static_cast<std::int64_t>(std::floor(runtime().clock.wall_seconds()));
  const json::Json payload = {{"iss", source_.email},
                              {"scope", scope_of(source_)},
                              {"aud", source_.token_url},
                              {"iat", now},
                              {"exp", now + kAssertionLife}};
  json::Json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (!source_.private_key_id.empty()) header["kid"] = source_.private_key_id;
  return cloud::signed_jwt(source_.private_key, header.dump(), payload.dump());
}

Task<AccessTokens::Token> AccessTokens::ask() {
  http::Request asking = co_await request();
  if (source_.impersonation_url.empty()) co_return co_await request_token(std::move(asking));
  const cloud::Element answer = co_await exchange(std::move(asking));
  co_return co_await impersonate(answer.text("access_token"));
}

// The token of the service account to act as.
Task<AccessTokens::Token> AccessTokens::impersonate(std::string own) {
  const async::Clock::TimePoint asked_at = runtime().clock.now();
  json::Json body = {{"scope", json::Json::array({kScope})},
                     {"lifetime", fmt::format("{}s", kAssertionLife)}};
  if (!source_.delegates.empty()) body["delegates"] = source_.delegates;
  http::Request asking{
      .method = "POST",
      .url = source_.impersonation_url,
      .headers = {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + own}},
      .body = body.dump(),
      .secrets = {own}};
  const cloud::Element answer = co_await exchange(std::move(asking));
  const std::string expiry = answer.text("expireTime");
  const std::optional<double> ends_at = cloud::parse_iso_time(expiry);
  if (!ends_at) throw CloudError(CloudError::Kind::auth, kCall + (": expires at " + expiry));
  const std::chrono::duration<double> life(*ends_at - runtime().clock.wall_seconds());
  co_return Token{.text = answer.text("accessToken"), .life = cloud::token_life(asked_at, life)};
}

}  // namespace nodepool::drivers::gce
