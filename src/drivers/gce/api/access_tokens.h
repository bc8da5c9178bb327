#pragma once

#include <string>

#include "async/runtime.h"
#include "cloud/token_cache.h"
#include "drivers/gce/config/credential_source.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::gce {

// The access token of all calls of an account. Renews it before it expires and when it is rejected.
class AccessTokens {
 public:
  // Never log it.
  struct Token {
    std::string text;
    cloud::TokenLife life;
  };
  using Pointer = cloud::TokenCache<Token>::Pointer;

  // `source` outlives it. `on_attempt` is called for every attempt to get a token.
  AccessTokens(const async::Runtime& runtime, const CredentialSource& source, telemetry::Logger log,
               http::Client::Observer on_attempt);

  // A valid token. Throws CloudError(auth) if it cannot be obtained.
  async::Task<Pointer> get() { return current_.get(); }

  // Google has rejected this token: the next get() requests a new one.
  void refused(const Pointer& token) { current_.refused(token); }

  // Call it after the last get() has returned.
  async::Task<> stop() { return current_.stop(); }

 private:
  async::Task<Token> ask();
  async::Task<Token> impersonate(std::string own);
  async::Task<http::Response> send(http::Request asking);
  http::Request request() const;
  std::string assertion() const;

  async::Runtime runtime_;
  const CredentialSource& source_;
  http::Client client_;
  cloud::TokenCache<Token> current_;
};

}  // namespace nodepool::drivers::gce
