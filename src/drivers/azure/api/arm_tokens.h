#pragma once

#include <string>

#include "async/runtime.h"
#include "cloud/token_cache.h"
#include "drivers/azure/config/subscription.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::azure {

// The access token of all calls of an account. Renews it before it expires and when it is rejected.
class ArmTokens {
 public:
  // Never log it.
  struct Token {
    std::string text;
    cloud::TokenLife life;
  };
  using Pointer = cloud::TokenCache<Token>::Pointer;

  // `source` outlives it. `on_attempt` is called for every attempt to get a token.
  ArmTokens(const async::Runtime& runtime, const TokenSource& source, telemetry::Logger log,
            http::Client::Observer on_attempt);

  // A valid token. Throws CloudError(auth) if it cannot be obtained.
  async::Task<Pointer> get() { return current_.get(); }

  // Azure has rejected this token: the next get() requests a new one.
  void refused(const Pointer& token) { current_.refused(token); }

  // Call it after the last get() has returned.
  async::Task<> stop() { return current_.stop(); }

 private:
  async::Task<Token> ask();
  http::Request request() const;
  std::string assertion() const;

  async::Runtime runtime_;
  const TokenSource& source_;
  http::Client client_;
  cloud::TokenCache<Token> current_;
};

// The SHA-1 of a PEM file's certificate, as in a JWT's `x5t` (RFC 7515 §4.1.7). Throws
// CloudError(auth) if the file has none.
std::string certificate_thumbprint(const std::string& pem);

}  // namespace nodepool::drivers::azure
