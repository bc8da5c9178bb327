#include "drivers/gce/api/access_tokens.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cloud/answer.h"
#include "cloud/base64.h"
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

std::string base64_url(std::string_view data) {
  std::string text = cloud::base64(data);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  text.erase(std::min(text.find('='), text.size()));
  return text;
}

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

std::string signed_jwt(const std::string& private_key, const std::string& key_id,
                       const std::string& payload) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> pem(
      ::BIO_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())), &::BIO_free);
  // Without the callback, OpenSSL would ask for the password of an encrypted key.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key(
      ::PEM_read_bio_PrivateKey(pem.get(), nullptr, no_password, nullptr), &::EVP_PKEY_free);
  if (!key || ::EVP_PKEY_is_a(key.get(), "RSA") != 1) {
    throw CloudError(CloudError::Kind::auth, "the service account's private key is not valid");
  }
  json::Json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (!key_id.empty()) header["kid"] = key_id;
  std::string text = base64_url(header.dump()) + "." + base64_url(payload);
  const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                          &::EVP_MD_CTX_free);
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  std::string signature(static_cast<std::size_t>(::EVP_PKEY_get_size(key.get())), '\0');
  std::size_t size = signature.size();
  if (::EVP_DigestSignInit(context.get(), nullptr, ::EVP_sha256(), nullptr, key.get()) != 1 ||
      ::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                       data, text.size()) != 1) {
    throw CloudError(CloudError::Kind::auth, "error signing with the service account's key");
  }
  signature.resize(size);
  return text + "." + base64_url(signature);
}

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
    const std::string assertion =
        signed_jwt(source_.private_key, source_.private_key_id, payload.dump());
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
    throw CloudError(CloudError::Kind::auth, fmt::format("{}: {}", kCall, error.what()));
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
