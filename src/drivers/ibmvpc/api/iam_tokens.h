#pragma once

#include <string>

#include "async/runtime.h"
#include "cloud/rest/bearer_tokens.h"
#include "drivers/ibmvpc/config/ibmvpc_config.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::ibmvpc {

// The access tokens of an account of IBM Cloud, from IAM or the metadata service of an instance. A
// configured token is used as it is.
class IamTokens final : public cloud::BearerTokens {
 public:
  // `account` outlives it. `on_attempt` is called for every attempt to get a token.
  IamTokens(const async::Runtime& runtime, const VpcAccount& account, telemetry::Logger log,
            http::Client::Observer on_attempt);

 private:
  async::Task<Token> ask() override;
  async::Task<Token> ask_for_api_key();
  async::Task<Token> ask_for_container();
  async::Task<Token> ask_for_instance();
  std::string describe(const http::Response& response) const override;

  const IamCredentials& credentials_;
};

}  // namespace nodepool::drivers::ibmvpc
