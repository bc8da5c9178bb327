#include "drivers/aws/api/sso_sign_in.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "cloud/answer.h"
#include "cloud/iso_time.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "drivers/aws/api/number.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

namespace {

constexpr std::size_t kMaxFileSize = std::size_t{64} << 10;  // bytes
// As in AWS's tools.
constexpr double kRenewBefore = 15 * 60;  // seconds

CloudError failure(const std::string& problem) {
  return {CloudError::Kind::auth, "IAM Identity Center: " + problem};
}

bool may_be_renewed(const SsoToken& token, double now) {
  return !token.refresh_token.empty() && !token.client_id.empty() && !token.client_secret.empty() &&
         token.registration_expires > now;
}

// Replaces the token in the file atomically, and keeps its other contents.
void write_token(const std::string& path, const std::string& text, const SsoToken& token) {
  nlohmann::ordered_json content = nlohmann::ordered_json::parse(text);
  content["accessToken"] = token.access_token;
  content["expiresAt"] = cloud::iso_time(token.expires);
  content["refreshToken"] = token.refresh_token;
  const std::string draft = path + ".nodepool";
  std::ofstream file(draft, std::ios::trunc);
  using std::filesystem::perms;
  std::filesystem::permissions(draft, perms::owner_read | perms::owner_write);
  file << content.dump();
  file.close();
  if (!file) throw std::runtime_error("error writing the file");
  std::filesystem::rename(draft, path);
}

}  // namespace

std::optional<std::string> read_at_most(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.size() > most) return std::nullopt;
  return text;
}

SsoToken parse_sso_token(const std::string& text) {
  SsoToken token;
  try {
    const cloud::Element file =
        cloud::parse_answer("the token", {.status = 200, .headers = {}, .body = text});
    token.access_token = file.text("accessToken");
    const auto expires = cloud::parse_iso_time(file.text("expiresAt"));
    if (!expires) throw failure("the token's expiresAt is no time");
    token.expires = *expires;
    token.refresh_token = file.text_or("refreshToken");
    token.client_id = file.text_or("clientId");
    token.client_secret = file.text_or("clientSecret");
    token.registration_expires =
        cloud::parse_iso_time(file.text_or("registrationExpiresAt")).value_or(0);
  } catch (const CloudError& error) {
    throw CloudError(CloudError::Kind::auth, error.what());
  }
  return token;
}

SsoSignIn::SsoSignIn(const async::Runtime& runtime, const Account& account,
                     async::ThreadPool& threads, telemetry::Logger log, Send send)
    : runtime_(runtime),
      account_(account),
      threads_(threads),
      log_(std::move(log)),
      send_(std::move(send)) {}

// Reference: AWS SSO Portal API, GetRoleCredentials.
Task<SsoSignIn::Found> SsoSignIn::keys(const SsoSource& source) {
  const SsoToken token = co_await this->token(source);
  http::Request request{
      .url = fmt::format("{}/federation/credentials?role_name={}&account_id={}",
                         account_.endpoint(ServiceKind::sso, source.region),
                         cloud::url_text(source.role_name), cloud::url_text(source.account_id)),
      .headers = {{"x-amz-sso_bearer_token", token.access_token}},
      .secrets = {token.access_token},
      .name = "sso: GetRoleCredentials"};
  http::Response response;
  std::string refusal;
  try {
    response = co_await send_(std::move(request));
  } catch (const CloudError& error) {
    refusal = error.what();
  }
  if (!refusal.empty()) throw failure(refusal + " (to sign in: " + source.sign_in + ")");
  const cloud::Element got =
      cloud::parse_answer("sso: GetRoleCredentials", response).object("roleCredentials");
  co_return Found{.keys = {.access_key_id = got.text("accessKeyId"),
                           .secret_access_key = got.text("secretAccessKey"),
                           .session_token = got.text("sessionToken")},
                  .expires = got.number("expiration") / 1000};
}

// The token that expires last: the file's or the renewed one.
Task<SsoToken> SsoSignIn::token(const SsoSource& source) {
  const auto read = [path = source.token_file] { return read_at_most(path, kMaxFileSize); };
  const std::optional<std::string> file = co_await threads_.run("reading a token", read);
  if (!file) throw failure("not signed in; to sign in: " + source.sign_in);
  SsoToken token = parse_sso_token(*file);
  if (renewed_ && renewed_->expires > token.expires) token = *renewed_;
  const double now = runtime_.clock.wall_seconds();
  if (token.expires - now > kRenewBefore) co_return token;
  std::string problem = "the sign-in has expired";
  if (may_be_renewed(token, now)) {
    try {
      co_return co_await renewed(source, token, *file);
    } catch (const CloudError& error) {
      problem = error.what();
    }
  }
  if (token.expires > now) co_return token;
  throw failure(problem + "; to sign in: " + source.sign_in);
}

// Reference: AWS SSO OIDC API, CreateToken.
Task<SsoToken> SsoSignIn::renewed(const SsoSource& source, SsoToken token, std::string file) {
  const nlohmann::json body = {{"clientId", token.client_id},
                               {"clientSecret", token.client_secret},
                               {"grantType", "refresh_token"},
                               {"refreshToken", token.refresh_token}};
  http::Request request{.method = "POST",
                        .url = account_.endpoint(ServiceKind::sso_oidc, source.region) + "/token",
                        .headers = {{"Content-Type", "application/json"}},
                        .body = body.dump(),
                        .secrets = {token.client_secret, token.refresh_token, token.access_token},
                        .name = "sso-oidc: CreateToken"};
  const http::Response response = co_await send_(std::move(request));
  const cloud::Element got = cloud::parse_answer("sso-oidc: CreateToken", response);
  token.access_token = got.text("accessToken");
  token.expires = runtime_.clock.wall_seconds() + plausible_life(got.number("expiresIn"));
  token.refresh_token = got.text_or("refreshToken", token.refresh_token);
  renewed_ = token;
  auto write = [path = source.token_file, file = std::move(file), token] {
    write_token(path, file, token);
  };
  std::string problem;
  try {
    co_await threads_.run("writing a token", std::move(write));
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) log_.warning("{}: {}", source.token_file, problem);
  co_return token;
}

}  // namespace nodepool::drivers::aws
