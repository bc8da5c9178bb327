#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "cloud/element.h"
#include "cloud/rest/rest_client.h"
#include "cloud/token_cache.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// The bearer token of all calls of an account. Renews it before it expires and when it is rejected.
// A derived class knows the call that returns a token.
class BearerTokens {
 public:
  // Never log it.
  struct Token {
    std::string text;
    TokenLife life;  // without an end for the only token there is
  };
  using Pointer = TokenCache<Token>::Pointer;

  virtual ~BearerTokens() = default;
  BearerTokens(const BearerTokens&) = delete;
  BearerTokens& operator=(const BearerTokens&) = delete;

  // A valid token. Throws CloudError if it cannot be obtained: `transient` if the service does not
  // respond or asks for a retry, otherwise `auth`.
  async::Task<Pointer> get() { return cache_.get(); }

  // The cloud has rejected this token: the next get() requests a new one.
  void refused(const Pointer& token) { cache_.refused(token); }

  // Adds the token to a request; see RestOptions::authorize.
  async::Task<RestOptions::Reject> authorize(http::Request& request);

  // Call it after the last get() has returned.
  async::Task<> stop() { return cache_.stop(); }

 protected:
  struct Options {
    std::string_view name;       // of the token, for stack dumps and messages; a literal
    std::string_view call;       // its name, for messages and metrics; a literal
    std::string ca_file = {};    // see http::TransferOptions
    bool is_direct = false;      // without a proxy, for metadata services
    std::string_view hint = {};  // follows the error if the service does not respond; a literal
  };

  // `on_attempt` is called for every attempt of a call.
  BearerTokens(const async::Runtime& runtime, Options options, telemetry::Logger log,
               http::Client::Observer on_attempt);

  // A POST of a form (application/x-www-form-urlencoded).
  static http::Request form(std::string url,
                            const std::vector<std::pair<std::string, std::string>>& fields);

  // Sends a request, and returns the response, which is a success of at most 1 MiB. If the request
  // has no name, it gets the options' one. Throws CloudError, `transient` or not as get(), whose
  // text has no secrets of the request.
  async::Task<http::Response> fetch(http::Request request);

  // The same for a request without name and a response in JSON. No error has anything of a
  // successful response.
  async::Task<Element> exchange(http::Request request);

  // The same, for a response with `access_token` and `expires_in` (RFC 6749 §5.1).
  async::Task<Token> request_token(http::Request request);

  const async::Runtime& runtime() const { return runtime_; }

 private:
  // Gets a new token. Any CloudError but `transient` counts as `auth`.
  virtual async::Task<Token> ask() = 0;
  // What a response other than a success means, with its status. By default, finds the error of
  // RFC 6749 §5.2 ("invalid_client: no such key"), and {"error": {"message": …}}.
  virtual std::string describe(const http::Response& response) const;

  async::Task<Token> ask_or_fail();

  async::Runtime runtime_;
  Options options_;
  http::Client client_;
  TokenCache<Token> cache_;
};

// The text of a file that has a token of another service, without the newline at its end. At most
// 1 MiB is read. Throws CloudError(auth) if the file cannot be read or is empty.
std::string read_token_file(const std::string& path);

}  // namespace nodepool::cloud
