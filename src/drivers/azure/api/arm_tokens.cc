#include "drivers/azure/api/arm_tokens.h"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "cloud/answer.h"
#include "cloud/base64.h"
#include "cloud/jwt.h"
#include "cloud/rest/refusal.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::azure {

using cloud::url_text;
using driver::CloudError;
using SourceKind = TokenSource::Kind;

namespace {

constexpr const char* kCall = "azure: get token";
constexpr const char* kAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
constexpr const char* kMetadataVersion = "2018-02-01";
constexpr int kAssertionLife = 600;  // seconds
constexpr auto kAnswerLimit = std::chrono::seconds(20);

// "invalid_client: AADSTS7000215: …" (RFC 6749 §5.2); empty if the response has another form.
std::string message_in(const http::Response& response) {
  try {
    const cloud::Element answer = cloud::parse_answer(kCall, response);
    return answer.text_or("error") + ": " + answer.text_or("error_description");
  } catch (const CloudError&) {
    return {};
  }
}

// The metadata service has it as text.
double seconds_in(const cloud::Element& answer) {
  const driver::Metadata texts = answer.own_texts();
  const auto text = texts.find("expires_in");
  if (text == texts.end()) return answer.number("expires_in");
  return std::strtod(text->second.c_str(), nullptr);
}

std::string federated_token(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) {
    throw CloudError(CloudError::Kind::auth, path + ": cannot be read, or is empty");
  }
  return text;
}

}  // namespace

std::string certificate_thumbprint(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> text(
      ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &::BIO_free);
  const std::unique_ptr<X509, decltype(&::X509_free)> certificate(
      ::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr), &::X509_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned size = 0;
  if (!certificate || ::X509_digest(certificate.get(), ::EVP_sha1(), hash.data(), &size) != 1) {
    throw CloudError(CloudError::Kind::auth, "the client certificate's file has no certificate");
  }
  return cloud::base64_url({reinterpret_cast<const char*>(hash.data()), size});
}

// The metadata service must not be called through a proxy.
ArmTokens::ArmTokens(const async::Runtime& runtime, const TokenSource& source,
                     telemetry::Logger log, http::Client::Observer on_attempt)
    : runtime_(runtime),
      source_(source),
      client_(runtime, {.transfers = {.is_direct = source.kind == SourceKind::managed_identity}},
              log, std::move(on_attempt)),
      current_(runtime, "Azure access token", std::move(log), [this] { return ask(); }) {}

// Proves that the client has the certificate's key.
std::string ArmTokens::assertion() const {
  if (source_.kind == SourceKind::federated_token) {
    return federated_token(source_.federated_token_file);
  }
  const auto now = static_cast<std::int64_t>(std::floor(runtime_.clock.wall_seconds()));
  const json::Json header = {
      {"alg", "RS256"}, {"typ", "JWT"}, {"x5t", certificate_thumbprint(source_.certificate)}};
  const json::Json claims = {{"aud", source_.token_url},
                             {"iss", source_.client_id},
                             {"sub", source_.client_id},
                             {"jti", runtime_.random.uuid_hex()},
                             {"nbf", now},
                             {"exp", now + kAssertionLife}};
  return cloud::signed_jwt(source_.certificate, header.dump(), claims.dump());
}

http::Request ArmTokens::request() const {
  http::Request request{.url = source_.token_url,
                        .name = kCall,
                        .repeatable = http::Request::Repeatable::yes,
                        .deadline = kAnswerLimit};
  if (source_.kind == SourceKind::managed_identity) {
    request.headers = {{"Metadata", "true"}};
    request.url +=
        fmt::format("?api-version={}&resource={}", kMetadataVersion, url_text(source_.audience));
    if (!source_.client_id.empty()) request.url += "&client_id=" + url_text(source_.client_id);
    return request;
  }
  request.method = "POST";
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = fmt::format("grant_type=client_credentials&client_id={}&scope={}",
                             url_text(source_.client_id), url_text(source_.audience + ".default"));
  if (source_.kind == SourceKind::client_secret) {
    request.body += "&client_secret=" + url_text(source_.client_secret);
    request.secrets = {source_.client_secret};
  } else {
    const std::string proof = assertion();
    request.body += fmt::format("&client_assertion_type={}&client_assertion={}",
                                url_text(kAssertionType), url_text(proof));
    request.secrets = {proof};
  }
  return request;
}

// All failures become CloudError(auth). Errors never contain a successful response: it has a token.
async::Task<ArmTokens::Token> ArmTokens::ask() {
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
    const std::string message = http::without_secrets(message_in(response), secrets);
    throw CloudError(
        CloudError::Kind::auth,
        cloud::presentable(fmt::format("{}: HTTP {} {}", kCall, response.status, message)));
  }
  try {
    const cloud::Element answer = cloud::parse_answer(kCall, response);
    Token token{.text = answer.text("access_token"), .life = {}};
    const std::chrono::duration<double> life(seconds_in(answer));
    token.life = cloud::token_life(asked_at, life);
    co_return token;
  } catch (const CloudError& error) {
    throw CloudError(CloudError::Kind::auth, error.what());
  }
}

}  // namespace nodepool::drivers::azure
