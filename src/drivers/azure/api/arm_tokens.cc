#include "drivers/azure/api/arm_tokens.h"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "cloud/base64.h"
#include "cloud/jwt.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::azure {

using cloud::url_text;
using driver::CloudError;
using SourceKind = TokenSource::Kind;

namespace {

constexpr const char* kAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
constexpr const char* kMetadataVersion = "2018-02-01";
constexpr int kAssertionLife = 600;  // seconds

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
ArmTokens::ArmTokens(const async::Runtime& runtime, const AzureAccount& account,
                     telemetry::Logger log, http::Client::Observer on_attempt)
    : BearerTokens(
          runtime,
          {.name = "Azure access token",
           .call = "azure: get token",
           .ca_file = account.ca_file,
           .is_direct = account.subscription.credentials.kind == SourceKind::managed_identity},
          std::move(log), std::move(on_attempt)),
      source_(account.subscription.credentials) {}

// Proves that the client has the certificate's key.
std::string ArmTokens::assertion() const {
  if (source_.kind == SourceKind::federated_token) {
    return cloud::read_token_file(source_.federated_token_file);
  }
  const auto now = static_cast<std::int64_t>(std::floor(runtime().clock.wall_seconds()));
  const json::Json header = {
      {"alg", "RS256"}, {"typ", "JWT"}, {"x5t", certificate_thumbprint(source_.certificate)}};
  const json::Json claims = {{"aud", source_.token_url},
                             {"iss", source_.client_id},
                             {"sub", source_.client_id},
                             {"jti", runtime().random.uuid_hex()},
                             {"nbf", now},
                             {"exp", now + kAssertionLife}};
  return cloud::signed_jwt(source_.certificate, header.dump(), claims.dump());
}

http::Request ArmTokens::request() const {
  if (source_.kind == SourceKind::managed_identity) {
    http::Request request{.url = source_.token_url, .headers = {{"Metadata", "true"}}};
    request.url +=
        fmt::format("?api-version={}&resource={}", kMetadataVersion, url_text(source_.audience));
    if (!source_.client_id.empty()) request.url += "&client_id=" + url_text(source_.client_id);
    return request;
  }
  std::vector<std::pair<std::string, std::string>> fields = {
      {"grant_type", "client_credentials"},
      {"client_id", source_.client_id},
      {"scope", source_.audience + ".default"}};
  if (source_.kind == SourceKind::client_secret) {
    fields.emplace_back("client_secret", source_.client_secret);
  } else {
    fields.emplace_back("client_assertion_type", kAssertionType);
    fields.emplace_back("client_assertion", assertion());
  }
  http::Request request = form(source_.token_url, fields);
  request.secrets = {fields.back().second};
  return request;
}

}  // namespace nodepool::drivers::azure
