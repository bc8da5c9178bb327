#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "cloud/rest/rest_client.h"
#include "cloud/token_cache.h"
#include "drivers/openstack/api/catalog.h"
#include "drivers/openstack/clouds/cloud.h"
#include "http/client.h"
#include "http/rate_limit.h"
#include "telemetry/log.h"

namespace nodepool::drivers::openstack {

// Authentication: one token for all calls, renewed before it expires. Without an Identity service,
// the fixed_credentials().
class Identity {
 public:
  // The result of a successful authentication. Never log it.
  struct Token {
    http::Headers::value_type header;  // of each call
    std::vector<ServiceEndpoint> catalog;
    std::string project_id = {};  // empty: unknown
    cloud::TokenLife life;
  };
  using TokenPointer = cloud::TokenCache<Token>::Pointer;

  // `cloud` and `rate_limit` outlive it.
  Identity(const async::Runtime& runtime, const Cloud& cloud, http::ClientOptions options,
           http::RateLimit& rate_limit, const telemetry::Logger& log,
           http::Client::Observer on_attempt);

  // A valid token. Throws CloudError, which never concerns the object of the call that needs the
  // token: `permanent` if the credentials are incomplete; `transient` without a response; `quota`;
  // otherwise `auth`, such as for rejected credentials and a wrong URL.
  async::Task<TokenPointer> token() { return token_.get(); }

  // A service has rejected this token: the next token() requests a new one.
  void refused(const TokenPointer& token) { token_.refused(token); }

  async::Task<> stop() { return token_.stop(); }

 private:
  async::Task<Token> ask();
  async::Task<Token> request_token(http::Request request);

  async::Runtime runtime_;
  const Cloud& cloud_;
  http::Client client_;
  cloud::RestClient calls_;
  cloud::TokenCache<Token> token_;
};

}  // namespace nodepool::drivers::openstack
