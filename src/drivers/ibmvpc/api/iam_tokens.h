#pragma once

#include <string>

#include "async/runtime.h"
#include "cloud/rest/rest_client.h"
#include "cloud/token_cache.h"
#include "drivers/ibmvpc/config/iam_credentials.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::ibmvpc {

// The access token of all calls of an account, from IAM for an API key. Renews it before it expires
// and when it is rejected. A configured token is used as it is.
class IamTokens {
 public:
  // Never log it.
  struct Token {
    std::string text;
    cloud::TokenLife life;
  };
  using Pointer = cloud::TokenCache<Token>::Pointer;

  // `credentials` outlives it. `on_attempt` is called for every attempt to get a token.
  IamTokens(const async::Runtime& runtime, const IamCredentials& credentials, telemetry::Logger log,
            http::Client::Observer on_attempt);

  // A valid token. Throws CloudError(auth) if it cannot be obtained.
  async::Task<Pointer> get() { return current_.get(); }

  // IBM has rejected this token: the next get() requests a new one.
  void refused(const Pointer& token) { current_.refused(token); }

  // Adds the token to a request; see cloud::RestOptions::authorize.
  async::Task<cloud::RestOptions::Reject> authorize(http::Request& request);

  // Whether there can be another token than the current one.
  bool can_renew() const { return credentials_.bearer_token.empty(); }

  // Call it after the last get() has returned.
  async::Task<> stop() { return current_.stop(); }

 private:
  async::Task<Token> ask();

  async::Runtime runtime_;
  const IamCredentials& credentials_;
  http::Client client_;
  cloud::TokenCache<Token> current_;
};

}  // namespace nodepool::drivers::ibmvpc
