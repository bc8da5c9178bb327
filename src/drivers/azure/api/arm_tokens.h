#pragma once

#include <string>

#include "async/runtime.h"
#include "cloud/rest/bearer_tokens.h"
#include "drivers/azure/config/azure_config.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::azure {

// The access tokens of an account of Azure.
class ArmTokens final : public cloud::BearerTokens {
 public:
  // `account` outlives it. `on_attempt` is called for every attempt to get a token.
  ArmTokens(const async::Runtime& runtime, const AzureAccount& account, telemetry::Logger log,
            http::Client::Observer on_attempt);

 private:
  async::Task<Token> ask() override { return request_token(request()); }
  http::Request request() const;
  std::string assertion() const;

  const TokenSource& source_;
};

// The SHA-1 of a PEM file's certificate, as in a JWT's `x5t` (RFC 7515 §4.1.7). Throws
// CloudError(auth) if the file has none.
std::string certificate_thumbprint(const std::string& pem);

}  // namespace nodepool::drivers::azure
