#pragma once

#include <string>

#include "async/runtime.h"
#include "cloud/rest/bearer_tokens.h"
#include "drivers/gce/config/gce_config.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::gce {

// The access tokens of an account of Google.
class AccessTokens final : public cloud::BearerTokens {
 public:
  // `account` outlives it. `on_attempt` is called for every attempt to get a token.
  AccessTokens(const async::Runtime& runtime, const Account& account, telemetry::Logger log,
               http::Client::Observer on_attempt);

 private:
  async::Task<Token> ask() override;
  async::Task<Token> impersonate(std::string own);
  async::Task<http::Request> request();
  async::Task<std::string> subject_token();
  std::string assertion() const;

  const CredentialSource& source_;
};

}  // namespace nodepool::drivers::gce
